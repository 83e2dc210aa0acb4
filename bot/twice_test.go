package bot

import (
	"testing"

	"matrix-tui/state"
	"matrix-tui/state/event"
)

// A message of ours that the homeserver has taken twice is removed once, and what is known stays: people have replied to it.
func TestSentTwice(t *testing.T) {
	d := newDeciding(t, everything)
	final, edit := d.out(state.KindFinal, "0-f0", "done"), d.out(state.KindNoticeEdit, "0-n-e", "done")
	if err := d.bot.Journal.Messages.Queue(t.Context(), final, edit); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"$first", "$first", "$late", "$late"} {
		for _, txn := range []string{final.Txn, edit.Txn} {
			in := &admission{bot: d.bot, echoes: []event.Event{{Room: d.id, ID: id + txn, Transaction: txn}}}
			if err := in.settle(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if row, err := d.bot.Journal.Messages.Get(t.Context(), final.Txn); err != nil || row.Event != "$first0-f0" {
		t.Errorf("the message is %s, %v", row.Event, err)
	}
	unsent, err := d.bot.Journal.Messages.Unsent(t.Context(), d.id)
	if err != nil || len(unsent) != 1 || unsent[0].Relation != state.Redaction || unsent[0].Target != "$late0-f0" {
		t.Errorf("to be sent: %v, %v", unsent, err)
	}
}
