package main

import "testing"

func TestHarmless(t *testing.T) {
	for in, want := range map[string]string{
		"plain\n\ttext ü 👍":       "plain\n\ttext ü 👍",
		"\x1b[2J\x1b]0;title\x07": "[2J]0;title",
		"a\rb\x00c\u009bd":        "abcd",
		"\u202eevil\u202c":        "evil",
		"bad\xffbyte":             "bad\ufffdbyte",
	} {
		if got := harmless(in); got != want {
			t.Errorf("harmless(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestShorten(t *testing.T) {
	for in, want := range map[string]string{"": "", "short": "short", "ten letters": "ten lette…", "a\n b\t\tc\x00d": "a b c d", "ääääääääääää": "äääääääää…"} {
		if got := shorten(in, 10); got != want {
			t.Errorf("shorten(%q) = %q, want %q", in, got, want)
		}
	}
}
