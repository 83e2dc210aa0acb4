package text

import (
	"strings"
	"testing"
)

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
