package bot

import (
	"errors"
	"strings"
	"testing"
	"time"

	"matrix-tui/state"
)

// A homeserver that was killed has taken a message twice, and delivers the first one minutes later.
func TestSentAgain(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name, again, late string
		at, after         time.Duration // when the late one was written, and how much later the other one
		sender            string
		want              string
	}{
		{"the same", "count", "count", -6 * time.Minute, 8 * time.Second, "@ann:here", "count ignored"},
		{"a command", "!help", "!help", -6 * time.Minute, 8 * time.Second, "@ann:here", "ignored"},
		{"other words", "count", "count them", -6 * time.Minute, 8 * time.Second, "@ann:here", "count count them ⏳"},
		{"written later", "count", "count", -6 * time.Minute, -8 * time.Second, "@ann:here", "count count ⏳"},
		{"written long before", "count", "count", -30 * time.Minute, 20 * time.Minute, "@ann:here", "count count ⏳"},
		{"in time", "count", "count", -9 * time.Second, 8 * time.Second, "@ann:here", "count count ⏳"},
		{"of somebody else", "count", "count", -6 * time.Minute, 8 * time.Second, "@ben:here", "count count ⏳"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDeciding(t, everything)
			d.at = now.Add(c.at + c.after)
			d.text("$again", "@ann:here", c.again, 0)
			d.decides()
			d.text("$late", c.sender, c.late, -c.after)
			d.decides()
			got := d.line()
			told, err := d.bot.Journal.Messages.Get(t.Context(), state.KeyOf(d.id, "$late")+"-a")
			switch {
			case err == nil && strings.Contains(told.Body, "looks like a copy"):
				got = append(got, "ignored")
			case !errors.Is(err, state.ErrNotFound):
				t.Fatalf("it says %.100s, %v", told.Body, err)
			}
			if got := strings.Join(got, " "); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
