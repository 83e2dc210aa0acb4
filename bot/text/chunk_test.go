package text

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestSplit(t *testing.T) {
	code := "```go\n" + strings.Repeat("x := 1\n", 10) + "```\n"
	for _, c := range []struct {
		name, text string
		max        int
		want       []string
	}{
		{"short", "hello", 100, []string{"hello"}},
		{"between paragraphs", "aaaaaaaaaaaaaaaaaaaaaaaa\n\nbbbbbbbbbb\n\nccccccccccccccc", 50,
			[]string{"aaaaaaaaaaaaaaaaaaaaaaaa\n\nbbbbbbbbbb", "ccccccccccccccc"}},
		{"fence kept whole", strings.Repeat("word ", 4) + "\n\n" + code + "after", 100,
			[]string{strings.Repeat("word ", 4), code + "after"}},
		{"fence too long is reopened", "```sh\n" + strings.Repeat("echo hello\n", 12) + "```", 90, []string{
			"```sh\n" + strings.TrimRight(strings.Repeat("echo hello\n", 6), "\n") + "\n```",
			"```sh\n" + strings.Repeat("echo hello\n", 6) + "```",
		}},
		{"no place at all", strings.Repeat("é", 60), 68, []string{
			strings.Repeat("é", 30), strings.Repeat("é", 30),
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Split(c.text, c.max)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestClose(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		"a\n":                           "a\n",
		"```\na\n```\nb":                "```\na\n```\nb",
		"so:\n````go\nx := 1\n```\ny\n": "so:\n````go\nx := 1\n```\ny\n````",
		"~~~":                           "~~~\n~~~",
	} {
		if got := Close(text); got != want {
			t.Errorf("Close(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("a\n```go\nx\n```\nb", 40)
	f.Add("~~~~\n```\n~~~~\n\n\n", 33)
	f.Add(strings.Repeat("`", 300), 64)
	f.Fuzz(func(t *testing.T, text string, max int) {
		if max < 256 || max > 1<<16 || !utf8.ValidString(text) {
			return
		}
		parts := Split(text, max)
		letters := func(s string) string {
			return strings.Map(func(r rune) rune {
				if r == '`' || r == '~' || r == '\n' {
					return -1
				}
				return r
			}, s)
		}
		for _, p := range parts {
			if len(p) > max {
				t.Fatalf("a part has %d bytes, more than %d", len(p), max)
			}
			if !utf8.ValidString(p) {
				t.Fatal("a character is cut in two")
			}
		}
		joined := letters(strings.Join(parts, ""))
		if len(joined) < len(letters(text)) {
			t.Fatal("text is lost")
		}
	})
}
