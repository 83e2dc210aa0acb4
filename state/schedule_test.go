package state

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/state/scrub"
)

func day(n int) time.Time { return time.Date(2026, 11, n, 8, 0, 0, 0, time.UTC) }

// anEntry stores an entry of a room that is due on the 28th.
func anEntry(t *testing.T, j *Journal, room string) Entry {
	t.Helper()
	e := Entry{Room: room, Text: "count the birds", When: When{Cron: "0 8 * * *"}, Missed: MissedOnce, Gate: "true",
		By: "@alice:x", Events: "$first $asked" + room, Created: day(1), Zone: "UTC", Next: day(28)}
	must(t, j.Schedule.Add(ctx, e, 3, func(numbered Entry) []Message {
		e = numbered
		return []Message{message(fmt.Sprint("added", room, e.Number), room, "$1")}
	}))
	return e
}

// aRun is a run of an entry.
func aRun(e Entry, at time.Time) Run {
	event := "$run-" + e.Key() + at.Format(time.DateOnly)
	return Run{Event: anEvent(e.Room, event, Done), Task: Task{Key: KeyOf(e.Room, event), Room: e.Room, Event: event,
		Home: e.Room, Source: FromSchedule, Requester: e.By, Execution: "x" + event, Text: e.Text,
		Details: Details{Scheduled: Scheduled{Number: e.Number, Entry: e.Key(), At: at}}}}
}

func TestEntries(t *testing.T) {
	j := newJournal(t)
	first, second := anEntry(t, j, "!a"), anEntry(t, j, "!a")
	anEntry(t, j, "!b")
	if first.Number != 1 || second.Number != 2 {
		t.Errorf("numbers %d, %d", first.Number, second.Number)
	}
	if got, err := j.Schedule.In(ctx, "!a"); err != nil || !cmp.Equal(got, []Entry{first, second}) {
		t.Errorf("%v %s", err, cmp.Diff([]Entry{first, second}, got))
	}
	must(t, j.Schedule.Remove(ctx, first, "@bob:x", nil))
	for _, err := range []error{j.Schedule.Remove(ctx, first, "@bob:x", nil), j.Schedule.Change(ctx, first, first, nil, nil)} {
		if !errors.Is(err, ErrNotFound) {
			t.Error(err)
		}
	}
	anEntry(t, j, "!a")
	if third := anEntry(t, j, "!a"); third.Number != 4 {
		t.Errorf("number %d", third.Number)
	}
	for txn, want := range map[string]error{"new": ErrFull, "added!a4": ErrTwice} {
		err := j.Schedule.Add(ctx, Entry{Room: "!a"}, 3, func(Entry) []Message { return []Message{message(txn, "!a", "$1")} })
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, not %v", txn, err, want)
		}
	}
	tired := second
	tired.Paused = "tired"
	must(t, j.Schedule.Change(ctx, second, tired, nil, []Message{message("told", "!a", "$1")}))
	if due, err := j.Schedule.Due(ctx, day(28)); err != nil || len(due) != 3 { // 3 and 4 of !a, 1 of !b
		t.Errorf("%d due, %v", len(due), err)
	}
	if due, err := j.Schedule.Due(ctx, day(27)); err != nil || len(due) != 0 {
		t.Errorf("%d due, %v", len(due), err)
	}
	if next, err := j.Schedule.Next(ctx, day(27)); err != nil || !next.Equal(day(28)) {
		t.Errorf("next %s, %v", next, err)
	}
	must(t, j.MoveRoom(ctx, "!a", "!b", Adapter{Key: func(e string) string { return e },
		Message: func(m Message) Message { return m }}))
	if moved, err := j.Schedule.In(ctx, "!b"); err != nil || len(moved) != 4 || moved[1].Number != 3 ||
		moved[1].Paused != "tired" {
		t.Errorf("moved: %+v, %v", moved, err)
	}
}

// Whatever is repeated, one time has one task.
func TestFire(t *testing.T) {
	j := newJournal(t)
	e := anEntry(t, j, "!a")
	next := e
	next.Next = day(29)
	must(t, j.Schedule.Change(ctx, e, next, []Run{aRun(e, day(28))}, nil))
	if err := j.Schedule.Change(ctx, e, next, []Run{aRun(e, day(28))}, nil); !errors.Is(err, ErrFinished) {
		t.Errorf("fired again: %v", err)
	}
	must(t, j.Schedule.Change(ctx, next, next, []Run{aRun(e, day(28))}, nil)) // by hand, for the same time
	tasks, err := j.Tasks.In(ctx, "!a", TaskQueued)
	if err != nil || len(tasks) != 1 || !tasks[0].Moved() || tasks[0].Scheduled.Number != 1 {
		t.Errorf("%+v, %v", tasks, err)
	}
	once := next
	once.Next = time.Time{}
	must(t, j.Schedule.Change(ctx, next, once, []Run{aRun(e, day(29))}, nil))
	if _, err := j.Schedule.Get(ctx, "!a", 1); !errors.Is(err, ErrNotFound) {
		t.Errorf("an entry that is never due again: %v", err)
	}
	if n, err := j.Schedule.Unfinished(ctx, e); err != nil || n != 2 {
		t.Errorf("%d unfinished, %v", n, err)
	}
	if n, err := j.Tasks.Count(ctx, "!a", TaskQueued); err != nil || n != 2 {
		t.Errorf("%d tasks, %v", n, err)
	}
}

// Three failures in a row pause an entry. An answer, or a person who stops a run, does not count.
func TestFailuresOfAnEntry(t *testing.T) {
	j := newJournal(t)
	e := anEntry(t, j, "!a")
	for i, c := range []struct {
		ended, stopBy string
		failures      int
	}{{"crashed", "", 1}, {"crashed", "", 2}, {"completed", "", 0}, {"timed_out", "", 1}, {"stopped", "@bob:x", 1},
		{"crashed", "", 2}, {"model_error", "", 3}} {
		r := aRun(e, day(i+1))
		must(t, j.Tasks.Submit(ctx, r.Event, r.Task))
		r.Task.Ended, r.Task.StopBy = c.ended, c.stopBy
		for range 2 { // a result may be stored again
			must(t, j.Tasks.Answer(ctx, r.Task, nil))
		}
		got, err := j.Schedule.Get(ctx, "!a", 1)
		if err != nil || got.Failures != c.failures || (got.Paused != "") != (c.failures == MaxFailures) {
			t.Errorf("%s: %d failures, paused %q, %v", c.ended, got.Failures, got.Paused, err)
		}
	}
}

// What a message has asked for goes with it, and a text that is forgotten goes from the schedule.
func TestForgetEntries(t *testing.T) {
	j := newJournal(t)
	anEntry(t, j, "!a")
	anEntry(t, j, "!b")
	for i, room := range []string{"!a", "!b"} {
		gone, err := j.Schedule.RemoveOf(ctx, room, "$asked!b", message(fmt.Sprint("gone", i), room, "$1"))
		if gone != (room == "!b") || err != nil {
			t.Errorf("%s: %v, %v", room, gone, err)
		}
	}
	if all, err := j.Schedule.In(ctx, "!b"); err != nil || len(all) != 0 {
		t.Errorf("after its message: %v, %v", all, err)
	}
	for txn, told := range map[string]bool{"gone0": false, "gone1": true} {
		if _, err := j.Messages.Get(ctx, txn); (err == nil) != told {
			t.Errorf("%s: %v", txn, err)
		}
	}
	if out, err := j.Removal.Scrub(ctx, "!a", "!a", scrub.Replacing("count all the fish", "count the birds")); err != nil || !out.Found {
		t.Error(out, err)
	}
	if e, err := j.Schedule.Get(ctx, "!a", 1); err != nil || e.Text != "count all the fish" {
		t.Errorf("edited: %+v, %v", e, err)
	}
	if _, err := j.Removal.Scrub(ctx, "!a", "!a", scrub.Without("the fish")); err != nil {
		t.Error(err)
	}
	if all, err := j.Schedule.In(ctx, "!a"); err != nil || len(all) != 0 {
		t.Errorf("forgotten: %v, %v", all, err)
	}
}

// The entries of a room that the bot has left are paused, and not due.
func TestLeaveEntries(t *testing.T) {
	j := newJournal(t)
	anEntry(t, j, "!a")
	must(t, j.Schedule.Leave(ctx, "!a"))
	if due, err := j.Schedule.Due(ctx, day(29)); err != nil || len(due) != 0 {
		t.Errorf("%v, %v", due, err)
	}
	if e, err := j.Schedule.Get(ctx, "!a", 1); err != nil || e.Paused != leftRoom {
		t.Errorf("%+v, %v", e, err)
	}
}
