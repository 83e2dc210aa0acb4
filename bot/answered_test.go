package bot

import (
	"testing"

	"matrix-tui/state"
	"matrix-tui/state/event"
)

// What an earlier life of the bot has answered is not handled again.
func TestAnsweredBefore(t *testing.T) {
	d := newDeciding(t, "defaults: {}")
	for end, want := range map[string]bool{"-f0": true, "-a": true, "-q0": false, "-n": false} {
		key := state.KeyOf(d.id, "$"+end)
		if err := (admitted{d.bot}).Echoed(t.Context(), event.Event{Room: d.id, ID: "$echo" + end, Transaction: key + end}); err != nil {
			t.Fatal(err)
		}
		if answered, err := d.bot.Journal.Messages.Answered(t.Context(), key); answered != want || err != nil {
			t.Errorf("after the echo of %s it counts as answered: %v, %v", end, answered, err)
		}
	}
}
