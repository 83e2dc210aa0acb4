package text

import (
	"strings"
	"testing"
)

func TestCut(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"short", "short"}, {"exactly 10", "exactly 10"}, {"longer than 10", "longer …"}, {"éééééééééé", "ééé …"},
	} {
		if got := Cut(c.text, 10); got != c.want {
			t.Errorf("Cut(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

// A command cannot end the code in which it is shown.
func TestFence(t *testing.T) {
	for _, s := range []string{"git push", "echo '```'\nrm -rf /", "````\n"} {
		got := Fence(s)
		fence, _, _ := strings.Cut(got, "\n")
		if strings.Contains(s, fence) || !strings.HasSuffix(got, "\n"+fence) {
			t.Errorf("%q", got)
		}
	}
}
