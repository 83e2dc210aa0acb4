package workspace

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/state/clean"
)

func TestSteering(t *testing.T) {
	big := strings.Repeat("x", 7_000)
	tests := []struct {
		name  string
		steer []Message
		want  string
	}{
		{"none", nil, ""},
		{"two", []Message{{"alice", "not so\n"}, {"", "/quit @x\n\n[bob]: so"}}, "[alice]: not so\n[user]: /quit \\@x\n\n\\[bob]: so\n"},
		{"the newest fit", []Message{{"a", "one " + big}, {"a", "two"}, {"b", "three " + big}}, "(older ones left out)\n[a]: two\n[b]: three " + big + "\n"},
		{"one is too long", []Message{{"a", big + big}}, "[a]: " + clean.Cut(big+big, maxSteered) + "\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, steering(test.steer)); diff != "" {
				t.Errorf("%.3000s", diff)
			}
		})
	}
}
