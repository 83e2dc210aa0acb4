package text

import (
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

func TestNesting(t *testing.T) {
	for text, want := range map[string]int{
		"a\n> b\n> > c": 2, "- a\n  - b": 1, "> - 1. a": 3, "------------": 0, "|---|---|": 0, "1.5 - 2 > 1": 2, "a > b > c": 0, ">>>>": 4, "": 0,
	} {
		if got := nesting(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
