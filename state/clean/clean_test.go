package clean

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	line, plain := Rules{OneLine: true}, Rules{OneLine: true, Invisible: true}
	for _, c := range []struct {
		rules      Rules
		text, want string
	}{
		{Rules{}, "plain\n\ttext", "plain\n\ttext"},
		{Rules{}, "\x1b[1;31mred\x1b[0m \x1b]0;title\x07", "red "},
		{Rules{}, "one\r\ntwo\rthree\u2028four", "one\ntwo\nthree\nfour"},
		{Rules{}, "a\x00b\x08c\u0085d\uFEFF", "abcd"},
		{Rules{}, "exe\u202Egpj.\u202C \u2066x\u2069", "exegpj. x"},
		{Rules{}, "שלום\u200F! سلام", "שלום\u200F! سلام"},
		{Rules{}, "👩\u200D💻 می\u200Cخواهم", "👩\u200D💻 می\u200Cخواهم"},
		{Rules{}, "\xff", "\uFFFD"},
		{line, " a\n\tb\u2028c\x00d\u00A0 ", "a b c d"},
		{line, "x\u202Ey\u200Bz", "xy\u200Bz"},
		{plain, "x\u202Ey\u200Bz\U000E0041 👩\u200D💻", "xyz 👩💻"},
		{Rules{Bytes: 8}, "longer than 8", "longe…"},
		{Rules{Bytes: 8}, "éééééé", "éé…"},
		{Rules{Chars: 4}, "éééééé", "ééé…"},
		{Rules{Chars: 4}, "éééé", "éééé"},
		{Rules{OneLine: true, Chars: 10}, "a\n b\t\tc\x00d", "a b c d"},
		{Rules{OneLine: true, Chars: 10}, "ten letters", "ten lette…"},
	} {
		if got := c.rules.Text(c.text); got != c.want {
			t.Errorf("%+v: %q became %q, want %q", c.rules, c.text, got, c.want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text string
		max  int
		want string
	}{{"short", 10, "short"}, {"exactly 10", 10, "exactly 10"}, {"longer than 10", 10, "longer …"}, {"éééééééééé", 10, "ééé…"}, {"long", 2, ""}, {"", 0, ""}} {
		if got := Cut(c.text, c.max); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.text, c.max, got, c.want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\u202Eb\x1b[31mc\x1b]0;d\x07e\r\nf\rg\u2028h\x00\xff", true, true, 5)
	f.Add("\x1b\x1b[[31m31m", false, false, 0)
	f.Fuzz(func(t *testing.T, s string, oneLine, invisible bool, max int) {
		r := Rules{OneLine: oneLine, Invisible: invisible}
		if max > 2 && max < 1<<20 {
			r.Bytes = max
		}
		got := r.Text(s)
		if !utf8.ValidString(got) || got != r.Text(got) || r.Bytes > 0 && len(got) > r.Bytes {
			t.Fatalf("%+v: %q became %q, then %q", r, s, got, r.Text(got))
		}
		for _, c := range got {
			if unicode.IsControl(c) && (oneLine || c != '\n' && c != '\t') {
				t.Fatalf("%q in %q", c, got)
			}
		}
		if oneLine && strings.TrimSpace(got) != got && r.Bytes == 0 {
			t.Fatalf("%q", got)
		}
	})
}
