package bot

import (
	"testing"

	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

func TestAnsweredBefore(t *testing.T) {
	row := func(id string) state.Event {
		return state.Event{Event: event.Event{Room: "!a:x", ID: id}, Status: state.Pending}
	}
	rows := []state.Event{row("$result"), row("$told"), row("$asked"), row("$progress"), row("$new")}
	life := answeredBefore{}
	for i, end := range []string{"-f0", "-a", "-q0", "-n", ""} {
		if end != "" {
			life.take(task.KeyOf(rows[i].Room, rows[i].ID) + end)
		}
	}
	life.take("") // an edit without a transaction
	life.archive(rows)
	for i, want := range []state.Status{state.Archived, state.Archived, state.Pending, state.Pending, state.Pending} {
		if rows[i].Status != want {
			t.Errorf("%s has status %d, want %d", rows[i].ID, rows[i].Status, want)
		}
	}
}
