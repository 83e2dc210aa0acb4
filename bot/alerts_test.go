package bot

import (
	"fmt"
	"testing"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/state"
)

// A room that cannot get an alert, or goes on refusing it, does not keep it from other rooms. One refusal proves nothing.
func TestRefusesAlerts(t *testing.T) {
	for _, c := range []struct {
		name   string
		err    error  // of the encryption, or
		answer string // of the homeserver
		since  time.Duration
		want   bool
	}{
		{"sent", nil, "", time.Hour, false},
		{"no device", fmt.Errorf("encrypt: %w", e2ee.ErrNoDevice), "", 0, true},
		{"an unknown encryption", e2ee.ErrAlgorithm, "", 0, true},
		{"refused once", nil, "403 M_FORBIDDEN", 0, false},
		{"refused for long", nil, "403 M_FORBIDDEN", time.Hour, true},
		{"refused for another reason", nil, "400 M_UNKNOWN", time.Hour, true},
		{"rejected like its substitute", nil, "413 M_TOO_LARGE", 0, true},
		{"no answer", nil, "502 ", time.Hour, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDeciding(t, everything)
			d.refusing(map[string][]string{"PUT ": {c.answer}})
			d.bot.unalerted = matrix.Refusals{}
			if c.since > 0 {
				d.bot.unalerted[d.id] = time.Now().Add(-c.since)
			}
			err := c.err
			if c.answer != "" {
				_, err = d.bot.account.SendClear(t.Context(), d.out(state.KindAlert, "0-alert", "low"))
			}
			if got := d.bot.refusesAlerts(t.Context(), d.id, err); got != c.want {
				t.Errorf("it refuses alerts: %v, after %v", got, err)
			}
			if err == nil && len(d.bot.unalerted) > 0 {
				t.Error("it counts an earlier refusal after a success")
			}
		})
	}
}
