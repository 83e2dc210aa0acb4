package bot

import (
	"testing"
	"time"

	"matrix-tui/state"
	"matrix-tui/state/event"
)

// A join is tried again while that makes sense: after a refusal for half a minute, without an answer for a day.
func TestMayJoinLater(t *testing.T) {
	for _, c := range []struct {
		name      string
		temporary bool
		invited   time.Duration // ago
		before    string        // the invitation that was refused before
		refused   time.Duration // ago
		want      bool
	}{
		{"first refusal", false, 0, "", 0, true},
		{"first refusal of an old invitation", false, 48 * time.Hour, "", 0, true},
		{"refused for a while", false, 0, "$this", 20 * time.Second, true},
		{"refused for good", false, 0, "$this", 40 * time.Second, false},
		{"another one was refused", false, 0, "$other", time.Hour, true},
		{"no answer", true, 23 * time.Hour, "", 0, true},
		{"no answer after a refusal", true, time.Hour, "$this", time.Hour, true},
		{"no answer for a day", true, 25 * time.Hour, "", 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &room{}
			r.refusal.invite, r.refusal.first = c.before, time.Now().Add(-c.refused)
			invite := state.Event{Event: event.Event{ID: "$this", Time: time.Now().Add(-c.invited)}}
			if got := r.mayJoinLater(c.temporary, invite); got != c.want {
				t.Errorf("mayJoinLater() = %t, want %t", got, c.want)
			}
		})
	}
}
