package task

import (
	"context"
	"fmt"
	"testing"
	"time"

	"matrix-tui/sandbox"
)

func TestWarm(t *testing.T) {
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	w := NewWarm(2, 20*time.Minute)
	w.now = func() time.Time { return now }
	in := func(room string) *sandbox.Container { return &sandbox.Container{Room: room} }
	check := func(what, room, like string, start bool, victim string) {
		t.Helper()
		got, gives := w.begin(room, like)
		name := ""
		if gives != nil {
			name = gives.Room
		}
		if got != start || name != victim {
			t.Errorf("%s: start %v, victim %q", what, got, name)
		}
		now = now.Add(time.Second)
	}
	check("the first", "a", "x", true, "")
	check("while it is being started", "a", "x", false, "")
	if w.Has("a") || w.Count() != 0 {
		t.Error("it counts before it is parked")
	}
	w.end("a", "x", "session", in("a"))
	if !w.Has("a") || w.Count() != 1 || w.sessionOf("a") != "session" || w.sessionOf("b") != "" {
		t.Errorf("%+v", w.rooms["a"])
	}
	check("it is there", "a", "x", false, "")
	check("for another session", "a", "y", true, "")
	w.end("a", "y", "", in("a"))
	check("a second room", "b", "x", true, "")
	w.end("b", "x", "", in("b"))
	check("a sign of life", "a", "y", false, "")
	check("nobody takes it away soon", "c", "x", false, "")
	now = now.Add(settled)
	check("the one that was used least recently gives way", "c", "x", true, "b")
	check("while that is being started", "d", "x", true, "a")
	check("nothing can give way", "e", "x", false, "")
	w.end("c", "x", "", in("c"))
	w.end("d", "", "", nil) // it failed
	if w.Count() != 1 || w.Has("d") {
		t.Errorf("%d are parked", w.Count())
	}
	now = now.Add(11 * time.Minute)
	check("more than half of its time is over", "c", "x", true, "")
	w.end("c", "x", "", in("c"))
	now = now.Add(20 * time.Minute)
	if w.Has("c") || w.Count() != 0 {
		t.Error("its time is over")
	}
	check("again", "c", "x", true, "")
	w.end("c", "x", "", in("c"))
	w.Forget("c")
	check("it was used", "c", "x", true, "")
	for i := range 100 {
		w.begin(fmt.Sprint(i), "")
	}
	if len(w.rooms) > 2 {
		t.Errorf("%d rooms", len(w.rooms))
	}
	if start, _ := NewWarm(0, time.Hour).begin("a", ""); start {
		t.Error("it is turned off")
	}
}

func TestWarmQuiet(t *testing.T) {
	w := NewWarm(1, time.Hour)
	works := w.starts()
	ctx, cancel := context.WithTimeout(t.Context(), 2*quietPoll)
	defer cancel()
	if err := w.quiet(ctx); err == nil {
		t.Error("it does not wait for a task that starts")
	}
	works()
	works()
	if err := w.quiet(t.Context()); err != nil || w.starting != 0 {
		t.Errorf("%v, %d start", err, w.starting)
	}
}
