package bot

import (
	"fmt"
	"testing"

	"matrix-tui/bot/matrix/event"
	"matrix-tui/state"
)

// A room has one receipt waiting, for its newest event; only one sends them.
func TestReceipts(t *testing.T) {
	said := func(room, id string) state.Inbound {
		return state.Inbound{Room: room, Event: id, Type: event.TypeMessage, Status: state.Pending}
	}
	var r receipts
	if r.add(nil) || r.add([]state.Inbound{{Room: "!a", Event: "$0", Type: event.TypeMessage, Status: state.Done}}) {
		t.Error("something is to be sent")
	}
	if !r.add([]state.Inbound{said("!a", "$1"), said("!a", "$2"), said("!b", "$3")}) {
		t.Error("nobody sends")
	}
	if r.add([]state.Inbound{said("!a", "$4")}) {
		t.Error("two send")
	}
	got := map[string]bool{}
	for want := 2; want > 0; want-- {
		room, event, all := r.next()
		if all != want {
			t.Errorf("%d wait, not %d", all, want)
		}
		got[fmt.Sprint(room, event)] = true
	}
	if !got["!a$4"] || !got["!b$3"] {
		t.Errorf("sent: %v", got)
	}
	if _, _, all := r.next(); all != 0 {
		t.Errorf("%d are left", all)
	}
	if !r.add([]state.Inbound{said("!a", "$5")}) {
		t.Error("nobody sends any more")
	}
}
