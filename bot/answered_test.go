package bot

import (
	"fmt"
	"testing"

	"matrix-tui/state"
	"matrix-tui/state/event"
)

// What an earlier life of the bot has answered is not handled again.
func TestAnsweredBefore(t *testing.T) {
	d := newDeciding(t, "defaults: {}")
	in := &admission{bot: d.bot}
	for i, end := range []string{"-f0", "-a", "-q0", "-n", ""} {
		id := fmt.Sprint("$", i)
		in.rows = append(in.rows, state.Event{Event: event.Event{Room: d.id, ID: id}, Status: state.Pending})
		if end != "" {
			in.echoes = append(in.echoes, event.Event{Room: d.id, ID: id + "-echo", Transaction: state.KeyOf(d.id, id) + end})
		}
	}
	in.echoes = append(in.echoes, event.Event{Room: d.id, ID: "$edit"}) // without a transaction
	if err := in.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, want := range []state.Status{state.Archived, state.Archived, state.Pending, state.Pending, state.Pending} {
		if in.rows[i].Status != want {
			t.Errorf("%s has status %d, want %d", in.rows[i].ID, in.rows[i].Status, want)
		}
	}
	later := &admission{bot: d.bot, rows: []state.Event{{Event: event.Event{Room: d.id, ID: "$0"}, Status: state.Pending}}}
	if err := later.settle(t.Context()); err != nil || later.rows[0].Status != state.Archived {
		t.Errorf("on a later page it has status %d, %v", later.rows[0].Status, err)
	}
}
