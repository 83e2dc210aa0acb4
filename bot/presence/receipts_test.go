package presence

import (
	"testing"

	"matrix-tui/bot/queue"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// Only the newest event of a room waits, and the sender stops when none is left.
func TestReceipts(t *testing.T) {
	var group queue.Group
	group.Close() // nothing is sent
	r := &Receipts{Group: &group}
	said := func(room, id string) state.Event {
		return state.Event{Event: event.Event{Room: room, ID: id, Type: event.TypeMessage}, Status: state.Pending}
	}
	r.Note(t.Context(), []state.Event{said("!a", "$2"), said("!b", "$3")})
	r.Note(t.Context(), []state.Event{said("!a", "$4")})
	if r.busy {
		t.Error("it counts a sender that could not start")
	}
	r.busy = true
	got := map[string]bool{}
	for want := 2; want > 0; want-- {
		room, id, all := r.next()
		if all != want {
			t.Errorf("%d receipts are waiting, want %d", all, want)
		}
		got[room+id] = true
	}
	if !got["!a$4"] || !got["!b$3"] {
		t.Errorf("taken: %v", got)
	}
	if _, _, all := r.next(); all != 0 || r.busy {
		t.Errorf("%d are left, busy %v", all, r.busy)
	}
}
