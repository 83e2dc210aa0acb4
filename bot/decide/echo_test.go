package decide

import (
	"strings"
	"testing"
	"time"
)

// Only what nobody types in the time since the answer is fast.
func TestIsFast(t *testing.T) {
	long := strings.Repeat("word ", 20)
	for _, c := range []struct {
		text string
		in   time.Duration
		want bool
	}{
		{long, time.Second, true}, {long, 6 * time.Second, true}, {long, 7 * time.Second, false},
		{long, -time.Second, false}, {"yes, please", 0, false}, {strings.Repeat(long, 9), echoWithin, false},
	} {
		if got := isFast(c.text, c.in); got != c.want {
			t.Errorf("%d bytes in %v: %v", len(c.text), c.in, got)
		}
	}
}
