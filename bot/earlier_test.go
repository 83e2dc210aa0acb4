package bot

import (
	"testing"

	"matrix-tui/bot/task"
	"matrix-tui/state"
)

func TestEarlierLife(t *testing.T) {
	row := func(event string) state.Inbound {
		return state.Inbound{Room: "!a:x", Event: event, Status: state.Pending}
	}
	rows := []state.Inbound{row("$result"), row("$told"), row("$asked"), row("$progress"), row("$new")}
	life := earlierLife{}
	for i, end := range []string{"-f0", "-a", "-q0", "-n", ""} {
		if end != "" {
			life.take(task.KeyOf(rows[i]) + end)
		}
	}
	life.take("") // an edit without a transaction
	life.archive(rows)
	for i, want := range []state.Status{state.Archived, state.Archived, state.Pending, state.Pending, state.Pending} {
		if rows[i].Status != want {
			t.Errorf("%s has status %d, want %d", rows[i].Event, rows[i].Status, want)
		}
	}
}
