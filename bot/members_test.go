package bot

import (
	"testing"
	"time"
)

// A join is tried again while that makes sense: after a refusal for half a minute, without an answer for a day.
func TestMayJoinLater(t *testing.T) {
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
	for _, c := range []struct {
		name         string
		temporary    bool
		invited      time.Time
		firstRefused time.Time
		want         bool
	}{
		{"first refusal", false, ago(0), time.Time{}, true},
		{"first refusal of an old invitation", false, ago(48 * time.Hour), time.Time{}, true},
		{"refused for a while", false, ago(0), ago(20 * time.Second), true},
		{"refused for good", false, ago(0), ago(40 * time.Second), false},
		{"no answer", true, ago(23 * time.Hour), time.Time{}, true},
		{"no answer after a refusal", true, ago(time.Hour), ago(time.Hour), true},
		{"no answer for a day", true, ago(25 * time.Hour), time.Time{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &room{firstRefused: c.firstRefused}
			if got := r.mayJoinLater(c.temporary, c.invited); got != c.want {
				t.Errorf("mayJoinLater() = %t, want %t", got, c.want)
			}
		})
	}
}
