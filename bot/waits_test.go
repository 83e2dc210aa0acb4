package bot

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWaits(t *testing.T) {
	w := newWaits()
	now := time.Now()
	w.set("a", wait{room: "!r", due: now.Add(time.Minute)})
	w.set("b", wait{room: "!r", due: now.Add(-time.Second)})
	w.set("c", wait{room: "!s", due: now.Add(2 * time.Second)})
	w.set("c", wait{room: "!s", due: now.Add(3 * time.Second)}) // a new time is no second task
	rooms, at := w.next(now)
	if diff := cmp.Diff([]string{"!r"}, rooms); diff != "" || !at.Equal(now.Add(3*time.Second)) {
		t.Errorf("%s; next in %s", diff, at.Sub(now))
	}
	if w.count("!r") != 2 || w.count("!s") != 1 || w.count("!t") != 0 || w.total() != 3 {
		t.Errorf("%d, %d, %d of %d", w.count("!r"), w.count("!s"), w.count("!t"), w.total())
	}
	if !w.overdue("!r", now) || w.overdue("!s", now) {
		t.Error("what is overdue")
	}
	w.set("a", wait{room: "!s", due: now.Add(time.Minute)}) // its room has moved
	w.drop("b")
	w.drop("b")
	if w.count("!r") != 0 || w.count("!s") != 2 {
		t.Errorf("%d and %d after a move", w.count("!r"), w.count("!s"))
	}
	w.dropRoom("!s")
	if w.total() != 0 || len(w.rooms) != 0 {
		t.Errorf("%d tasks, %d rooms left", w.total(), len(w.rooms))
	}
}
