package bot

import (
	"fmt"
	"testing"
	"time"

	"matrix-tui/bot/pending"
	"matrix-tui/state"
)

// A homeserver can deliver a message minutes after it was written, behind a question that was asked meanwhile.
func TestDeliveredLate(t *testing.T) {
	for _, c := range []struct {
		sender string
		after  time.Duration
		want   bool
	}{
		{"@ann:here", time.Second, true},
		{"@ann:here", -30 * time.Second, true}, // sent at the same time
		{"@ann:here", -2 * time.Minute, false},
		{"@ann:there", -time.Hour, true}, // the clock of another server
	} {
		d := newDeciding(t, "defaults:\n  allow: ['@*:here', '@*:there']\n  reply: all\n")
		asking, txn := d.waits("")
		asking.Requester = c.sender
		if err := d.bot.Journal.Tasks.Wait(t.Context(), asking, nil); err != nil {
			t.Fatal(err)
		}
		d.bot.waits.Set(asking.Key, pending.Wait{Room: d.id, Asker: c.sender})
		d.queues(asking, state.KindQuestion, txn)
		if err := d.bot.Journal.Messages.MarkSent(t.Context(), txn, "$question"); err != nil {
			t.Fatal(err)
		}
		d.text("$question", "@bot:here", "Which one?", 0)
		d.text(fmt.Sprint("$", c.after), c.sender, "this one", c.after)
		d.decides()
		rec, err := d.bot.Journal.Tasks.Get(t.Context(), asking.Key)
		if got := len(rec.Answers) == 1; got != c.want || err != nil {
			t.Errorf("a message of %s, written %s after the question, answers it: %v, %v", c.sender, c.after, got, err)
		}
	}
}
