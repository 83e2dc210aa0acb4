package pending

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWaits(t *testing.T) {
	w := New()
	now := time.Now()
	w.Set("a", Wait{Room: "!r", Due: now.Add(time.Minute)})
	w.Set("b", Wait{Room: "!r", Due: now.Add(-time.Second)})
	w.Set("c", Wait{Room: "!s", Due: now.Add(2 * time.Second)})
	w.Set("c", Wait{Room: "!s", Due: now.Add(3 * time.Second)}) // replaces the first time
	rooms, at := w.Next(now)
	if diff := cmp.Diff([]string{"!r"}, rooms); diff != "" || !at.Equal(now.Add(3*time.Second)) {
		t.Errorf("%s; next in %s", diff, at.Sub(now))
	}
	if w.Count("!r") != 2 || w.Count("!s") != 1 || w.Count("!t") != 0 || w.Total() != 3 {
		t.Errorf("%d, %d, %d of %d", w.Count("!r"), w.Count("!s"), w.Count("!t"), w.Total())
	}
	if !w.Overdue("!r", now) || w.Overdue("!s", now) {
		t.Error("wrong room is overdue")
	}
	w.Set("a", Wait{Room: "!s", Due: now.Add(time.Minute)}) // its room was upgraded
	w.Drop("b")
	w.Drop("b")
	if w.Count("!r") != 0 || w.Count("!s") != 2 {
		t.Errorf("%d and %d after a move", w.Count("!r"), w.Count("!s"))
	}
	w.DropRoom("!s")
	if w.Total() != 0 {
		t.Errorf("%d tasks left", w.Total())
	}
}
