package container

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"
)

func unpark(context.Context) error { return nil }

// givesWay returns the room whose run has to give way to that of another room.
func givesWay(t *testing.T, w *Warm, room string, own *parked) string {
	t.Helper()
	before := maps.Clone(w.rooms)
	gives, ok := w.makeRoom(room, own)
	if !ok {
		t.Errorf("nothing gives way to %s", room)
	}
	for victim, p := range before {
		if p == gives {
			return victim
		}
	}
	return ""
}

func TestWarm(t *testing.T) {
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	w := NewWarm(2, 20*time.Minute)
	w.now = func() time.Time { return now }
	begun := map[string]*parked{}
	check := func(what, room, like string, start bool, victim string) {
		t.Helper()
		got, name := w.begin(room, like), ""
		if got != nil {
			begun[room] = got
			name = givesWay(t, w, room, got)
		}
		if (got != nil) != start || name != victim {
			t.Errorf("%s: start %v, victim %q", what, got, name)
		}
		now = now.Add(time.Second)
	}
	end := func(room, like, session string) {
		w.end(room, begun[room], parked{discard: unpark, like: like, session: session, until: now.Add(20 * time.Minute)})
	}
	check("the first", "a", "x", true, "")
	check("while it is being started", "a", "x", false, "")
	if w.Has("a") || w.Count() != 0 {
		t.Error("it counts before it is parked")
	}
	end("a", "x", "session")
	if !w.Has("a") || w.Count() != 1 || w.SessionOf("a") != "session" || w.SessionOf("b") != "" {
		t.Errorf("%+v", w.rooms["a"])
	}
	check("it is there", "a", "x", false, "")
	check("for another session", "a", "y", true, "")
	if !w.Has("a") {
		t.Error("it is gone before another one is there")
	}
	end("a", "y", "")
	check("a second room", "b", "x", true, "")
	end("b", "x", "")
	check("a sign of life", "a", "y", false, "")
	check("nobody takes it away soon", "c", "x", false, "")
	now = now.Add(settled)
	check("the one that was used least recently gives way", "c", "x", true, "b")
	check("while that is being started", "d", "x", true, "a")
	check("nothing can give way", "e", "x", false, "")
	end("c", "x", "")
	w.end("d", begun["d"], parked{}) // it failed
	if w.Count() != 1 || w.Has("d") {
		t.Errorf("%d are parked", w.Count())
	}
	check("soon after it failed", "d", "x", false, "")
	check("a sign of life soon after it was there", "c", "x", false, "")
	now = now.Add(rechecked)
	check("a sign of life later: is it still there?", "c", "x", true, "")
	if w.leave("c", begun["c"]); !w.Has("c") {
		t.Error("it is gone because nobody looked after it")
	}
	check("again", "c", "x", true, "")
	end("c", "x", "")
	now = now.Add(20 * time.Minute)
	if w.Has("c") || w.Count() != 0 {
		t.Error("its time is over")
	}
	check("after its time", "c", "x", true, "")
	w.Forget("c")
	if end("c", "x", ""); w.Has("c") {
		t.Error("it is there although a task has used it")
	}
	check("it was used", "c", "x", true, "")
	if w.leave("c", begun["c"]); len(w.rooms) != 0 {
		t.Error("one that was not started is still listed")
	}
	for i := range 100 {
		w.begin(fmt.Sprint(i), "")
	}
	if len(w.rooms) > 2 {
		t.Errorf("%d rooms", len(w.rooms))
	}
	if NewWarm(0, time.Hour).begin("a", "") != nil {
		t.Error("it is turned off")
	}
}

// However many rooms want an agent at once, no more agents wait than may.
func TestWarmAtOnce(t *testing.T) {
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	w := NewWarm(2, 20*time.Minute)
	w.now = func() time.Time { return now }
	for _, room := range []string{"a", "b"} {
		w.end(room, w.begin(room, ""), parked{discard: unpark, until: now.Add(time.Hour)})
	}
	now = now.Add(settled)
	begun := map[string]*parked{}
	for i := range 100 {
		if room := fmt.Sprint(i); begun[room] == nil {
			if own := w.begin(room, ""); own != nil {
				begun[room] = own
			}
		}
	}
	if len(begun) != 2 || len(w.rooms) != 4 {
		t.Errorf("%d are to be started, %d are listed", len(begun), len(w.rooms))
	}
	w.begin("a", "another") // somebody shows up there, so that it does not give way
	started := 0
	for room, own := range begun {
		if _, ok := w.makeRoom(room, own); ok {
			started++
			w.end(room, own, parked{discard: unpark})
		} else {
			w.leave(room, own)
		}
	}
	if started != 1 || len(w.rooms) != 2 {
		t.Errorf("%d were started, %d are listed", started, len(w.rooms))
	}
}

// A run that is about to be parked when a task begins and ends is not parked after that: it would be one too many.
func TestWarmForgotten(t *testing.T) {
	w := NewWarm(1, 20*time.Minute)
	own := w.begin("a", "x")
	w.Forget("a") // a task has begun
	if w.begin("b", "x") == nil {
		t.Fatal("there is room")
	}
	if _, ok := w.makeRoom("a", own); ok {
		t.Error("it may be parked although it does not count")
	}
	w.leave("a", own)
	if len(w.rooms) != 1 || w.rooms["b"] == nil {
		t.Errorf("%v", w.rooms)
	}
}

// After a restart, the runs that wait already count.
func TestWarmAdopt(t *testing.T) {
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	w := NewWarm(2, 20*time.Minute)
	w.now = func() time.Time { return now }
	own := w.begin("a", "x")
	w.adopt("a", now.Add(time.Hour), unpark) // a sign of life has come first
	w.adopt("b", now.Add(time.Hour), unpark)
	w.adopt("c", now.Add(10*time.Minute), unpark)
	w.adopt("d", now, unpark)
	w.adopt("e", time.Time{}, unpark)
	if got := fmt.Sprint(w.Rooms()); own.discard != nil || got != "[b c]" {
		t.Errorf("agents wait in %s", got)
	}
	w.end("a", own, parked{discard: unpark, like: "x", until: now.Add(time.Hour)})
	own = w.rooms["a"]
	if victim := givesWay(t, w, "a", own); victim != "b" {
		t.Errorf("%q gives way", victim)
	}
	now = now.Add(settled)
	if gives, ok := w.makeRoom("a", own); gives != nil || !ok {
		t.Errorf("there is room now, %v", ok)
	}
	if w.begin("c", "x") == nil {
		t.Error("a sign of life does not find out whether what was parked before the restart is of use")
	}
	w.adopt("f", now.Add(240*time.Hour), unpark)
	if now = now.Add(20 * time.Minute); w.Has("f") {
		t.Error("what a container says about its time has no limit")
	}
}

func TestWarmQuiet(t *testing.T) {
	w := NewWarm(1, time.Hour)
	works := w.Starts()
	ctx, cancel := context.WithTimeout(t.Context(), 2*quietPoll)
	defer cancel()
	if _, err := w.take(ctx); err == nil {
		t.Error("it does not wait for a task that starts")
	}
	works()
	works()
	done, err := w.take(t.Context())
	if err != nil || w.starting != 0 {
		t.Fatalf("%v, %d start", err, w.starting)
	}
	if _, err := w.take(ctx); err == nil {
		t.Error("two runs are started at once")
	}
	done()
	if _, err := w.take(t.Context()); err != nil {
		t.Error(err)
	}
}
