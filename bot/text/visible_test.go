package text

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Whoever approves a command sees all of it.
func TestReveal(t *testing.T) {
	got := Reveal("echo \u202Eoh\u2069 \x1b]0;\r\n\trm\u200B é 好\u00A0x\u3164\u034F\u2800\x7f рм")
	if diff := cmp.Diff(`echo \u{202E}oh\u{2069} \u{001B}]0;\u{000D}`+"\n\t"+`rm\u{200B} \u{00E9} \u{597D}\u{00A0}x\u{3164}\u{034F}\u{2800}\u{007F} \u{0440}\u{043C}`, got); diff != "" {
		t.Error(diff)
	}
	if got != Visible(got) {
		t.Error("the room sees less")
	}
}

func TestTableGoesOn(t *testing.T) {
	row := "| " + strings.Repeat("x", 60) + " | 2 |\n"
	head := "| a | b |\n|---|:-:|\n"
	parts := Split("Look:\n\n"+head+strings.Repeat(row, 20)+"\nThe end.", 512)
	if len(parts) < 3 {
		t.Fatalf("%d parts", len(parts))
	}
	for i, part := range parts {
		if !strings.HasPrefix(strings.TrimPrefix(part, "Look:\n\n"), head) && i < len(parts)-1 {
			t.Errorf("part %d begins with %.30q", i, part)
		}
	}
	if n := strings.Count(strings.Join(parts, "\n"), strings.TrimSpace(row)); n != 20 {
		t.Errorf("%d rows", n)
	}
	for name, c := range map[string]struct{ part, rest string }{
		"behind the table":  {head + row + "\n", "text | more"},
		"no table":          {"a | b\nc | d\n", "e | f"},
		"before the table":  {"text\n| a | b |\n", "|---|---|\n| 1 | 2 |"},
		"in a line":         {head + "| a", " | b |\n"},
		"a table has ended": {head + row, "text"},
	} {
		if got := tableHead(c.part, c.rest); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestNesting(t *testing.T) {
	for text, want := range map[string]int{
		"a\n> b\n> > c": 2, "- a\n  - b": 1, "> - 1. a": 3, "------------": 0, "|---|---|": 0, "1.5 - 2 > 1": 2, "a > b > c": 0, ">>>>": 4, "": 0,
	} {
		if got := nesting(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
