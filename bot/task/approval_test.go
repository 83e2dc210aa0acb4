package task

import (
	"strings"
	"testing"
)

// Only a plain yes approves a command.
func TestIsYes(t *testing.T) {
	for _, yes := range []string{"✅", "✅\uFE0F", "👍", "yes", " Yes! ", "ok.", "Go ahead", "approved"} {
		if !IsYes(yes) {
			t.Errorf("%q does not approve", yes)
		}
	}
	for _, no := range []string{"", "❌", "no", "yes, but not to main", "yesterday", "not ok", "ok?", "sure, if the tests pass", "don't"} {
		if IsYes(no) {
			t.Errorf("%q approves", no)
		}
	}
}

func TestTail(t *testing.T) {
	out := &tail{max: 10}
	for _, piece := range []string{"0123", "", "456789", "abc", strings.Repeat("x", 100) + "éend"} {
		if n, err := out.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
		if len(out.b) > 10 {
			t.Errorf("%d bytes kept", len(out.b))
		}
	}
	if out.String() != "xxxxxéend" {
		t.Errorf("%q", out.String())
	}
}
