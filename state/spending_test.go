package state

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSpending(t *testing.T) {
	j := newJournal(t)
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	late := day.Add(24*time.Hour - time.Second)
	must(t, j.Budget.Add(ctx, "!a", Spending{Day: day, Requests: 1, Input: 10, Output: 2}))
	must(t, j.Budget.Add(ctx, "!a", Spending{Day: late, Requests: 1, Input: 5, Extra: 100}))
	must(t, j.Budget.Add(ctx, "!b", Spending{Day: day, Input: 7}))
	must(t, j.Budget.Add(ctx, "!a", Spending{Day: late.Add(time.Second), Requests: 1, Input: 1}))
	first := Spending{Day: day, Requests: 2, Input: 15, Output: 2, Extra: 100}
	next := Spending{Day: day.AddDate(0, 0, 1), Requests: 1, Input: 1}
	for at, want := range map[time.Time]Spending{
		day: first, late: first, next.Day: next, day.AddDate(0, 0, 9): {Day: day.AddDate(0, 0, 9)}, day.AddDate(0, 0, -1): {Day: day.AddDate(0, 0, -1)},
	} {
		got, err := j.Budget.On(ctx, "!a", at)
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", at, diff)
		}
	}
	got, err := j.Budget.Days(ctx, "!a", 5)
	must(t, err)
	if diff := cmp.Diff([]Spending{next, first}, got); diff != "" {
		t.Error(diff)
	}
	total := Spending{Day: next.Day, Requests: 3, Input: 16, Output: 2, Extra: 100}
	for range 2 {
		got, err := j.Budget.Total(ctx, "!a")
		must(t, err)
		if diff := cmp.Diff(total, got); diff != "" {
			t.Errorf("in total: %s", diff)
		}
		if _, err := j.Purge(ctx, late.Add(time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	got, err = j.Budget.Days(ctx, "!a", 5)
	must(t, err)
	if diff := cmp.Diff([]Spending{next}, got); diff != "" {
		t.Errorf("after a purge: %s", diff)
	}

	// More days are purged, and all of it moves to the room's successor.
	must(t, j.Budget.Add(ctx, "!c", Spending{Day: day, Requests: 1, Cached: 4}))
	if _, err := j.Purge(ctx, day.AddDate(0, 1, 0)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		must(t, j.MoveRoom(ctx, "!a", "!c", Adapter{}))
	}
	moved, err := j.Budget.Total(ctx, "!c")
	must(t, err)
	want := Spending{Day: time.Unix(0, 0).UTC(), Requests: 4, Input: 16, Cached: 4, Output: 2, Extra: 100}
	if diff := cmp.Diff(want, moved); diff != "" {
		t.Errorf("after a move: %s", diff)
	}
	if rest, err := j.Budget.Total(ctx, "!a"); err != nil || rest != (Spending{}) {
		t.Errorf("left behind: %+v, %v", rest, err)
	}
}

// A run, a session and a compaction count once, however often the step that contains them is stored.
func TestRunsAreCountedOnce(t *testing.T) {
	j := newJournal(t)
	task := queueTask(t, j, "!a", "$1")
	check := func(what string, runs, sessions, compactions int64) {
		t.Helper()
		got, err := j.Budget.Total(ctx, "!a")
		must(t, err)
		if want := (Spending{Day: got.Day, Runs: runs, Sessions: sessions, Compactions: compactions}); got != want {
			t.Errorf("%s: %+v", what, got)
		}
	}
	task.Run = "r1"
	must(t, j.Tasks.Note(ctx, task))
	check("noted", 0, 0, 0)
	for range 2 {
		task.Container = "c"
		must(t, j.Tasks.Claim(ctx, task))
		check("claimed", 1, 1, 0)
	}
	task.Run, task.Resume, task.Container = "r2", true, ""
	must(t, j.Tasks.Note(ctx, task))
	task.Container = "c"
	must(t, j.Tasks.Claim(ctx, task))
	check("in the same session", 2, 1, 0)
	task.Run, task.Resume, task.Compacted = "r3", false, true
	for range 2 {
		must(t, j.Tasks.Claim(ctx, task))
		check("in a new one", 3, 2, 1)
	}
	for range 2 {
		must(t, j.Tasks.Wait(ctx, task, nil))
	}
	task.Run, task.Container, task.Resume = "r4", "", true
	must(t, j.Tasks.Resume(ctx, task, nil))
	for range 2 {
		must(t, j.Tasks.Answer(ctx, task, nil))
	}
	check("answered without another run", 3, 2, 1)
}

// Tokens that people allow a task count once, however often the step that contains them is stored.
func TestTokensAreAllowedOnce(t *testing.T) {
	j := newJournal(t)
	task := queueTask(t, j, "!a", "$1")
	for _, allowed := range []int64{100, 250} { // in all
		for range 2 {
			task.Allowed = allowed
			must(t, j.Tasks.Note(ctx, task))
			must(t, j.Tasks.Claim(ctx, task))
		}
		got, err := j.Budget.Total(ctx, "!a")
		must(t, err)
		if got.Extra != allowed {
			t.Errorf("allowed %d of %d", got.Extra, allowed)
		}
	}
}
