package workspace

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConversation(t *testing.T) {
	big := strings.Repeat("x", 15_000)
	tests := []struct {
		name  string
		turns []Turn
		want  []string // the turns included, by their first words
		cut   bool
	}{
		{"none", nil, nil, false},
		{"all fit", []Turn{{"user", "one"}, {"assistant", "two"}}, []string{"one", "two"}, false},
		{"the newest fit", []Turn{{"user", "one " + big}, {"assistant", "two " + big}, {"user", "three " + big}}, []string{"two", "three"}, true},
		{"the newest is too long on its own", []Turn{{"user", "one"}, {"assistant", "two " + strings.Repeat("@", MaxHistory)}}, []string{"one", "two"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := conversation(test.turns, MaxHistory)
			if len(got) > MaxHistory+100 {
				t.Errorf("%d bytes", len(got))
			}
			var told []string
			for _, m := range regexp.MustCompile(`(?m)^\[\w+\]: (\w+)`).FindAllStringSubmatch(got, -1) {
				told = append(told, m[1])
			}
			if diff := cmp.Diff(test.want, told); diff != "" {
				t.Error(diff)
			}
			if strings.HasPrefix(got, "(older turns left out)\n") != test.cut {
				t.Errorf("begins %.40q", got)
			}
		})
	}
}
