package state

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What each step does in each state: to which state it leads, or its error.
func TestStepsFromEachState(t *testing.T) {
	const (
		none = TaskState("none") // ErrFinished, and nothing is changed
		skip = TaskState("skip") // nothing is changed, and that is no error
	)
	out := []Message{message("x", "!a", "$1")}
	states := []TaskState{TaskQueued, TaskRunning, TaskWaiting, TaskAnswered, TaskDone}
	steps := map[string]struct {
		do     func(j *Journal, t Task) error
		sends  bool
		closes bool
		want   []TaskState // by the states above
	}{
		"claim":  {func(j *Journal, t Task) error { return j.Tasks.Claim(ctx, t) }, false, false, []TaskState{TaskRunning, TaskRunning, none, none, none}},
		"note":   {func(j *Journal, t Task) error { return j.Tasks.Note(ctx, t) }, false, false, []TaskState{TaskQueued, TaskRunning, none, none, none}},
		"wait":   {func(j *Journal, t Task) error { return j.Tasks.Wait(ctx, t, out) }, true, false, []TaskState{TaskWaiting, TaskWaiting, TaskWaiting, none, none}},
		"resume": {func(j *Journal, t Task) error { return j.Tasks.Resume(ctx, t, out, "$by") }, true, true, []TaskState{none, none, TaskRunning, none, none}},
		"answer": {func(j *Journal, t Task) error { return j.Tasks.Answer(ctx, t, out, "$by") }, true, true, []TaskState{TaskAnswered, TaskAnswered, TaskAnswered, TaskAnswered, skip}},
	}
	for name, step := range steps {
		for i, from := range states {
			t.Run(name+" from "+string(from), func(t *testing.T) {
				j := newJournal(t)
				before := queueTask(t, j, "!a", "$1")
				commit(t, j, "t", anEvent("!a", "$by", Pending))
				_, err := j.db.Exec("UPDATE task SET state = ?", from)
				must(t, err)
				before.State = from
				changed := before
				changed.Text = "changed"
				err = step.do(j, changed)
				to := step.want[i]
				want, closed, unsent := before, Pending, 0
				if to != none && to != skip {
					want = changed
					want.State = to
					if step.closes {
						closed = Done
					}
					if step.sends {
						unsent = 1
					}
				}
				if errors.Is(err, ErrFinished) != (to == none) || (err != nil) != (to == none) {
					t.Errorf("error %v", err)
				}
				got, err := j.Tasks.Get(ctx, "$1")
				must(t, err)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
				if by, err := j.Events.Get(ctx, "!a", "$by"); err != nil || by.Status != closed {
					t.Errorf("the closing event has status %d, want %d, %v", by.Status, closed, err)
				}
				if rows, err := j.Messages.Unsent(ctx, "!a"); err != nil || len(rows) != unsent {
					t.Errorf("%d messages queued, want %d, %v", len(rows), unsent, err)
				}
				if err := step.do(j, Task{Key: "unknown"}); !errors.Is(err, ErrNotFound) {
					t.Errorf("of an unknown task: %v", err)
				}
			})
		}
	}
}

// An unknown event to close, or a message that cannot be sent, undoes all of a
// step.
func TestStepsAreOneTransaction(t *testing.T) {
	good := message("x", "!a", "$1")
	for name, c := range map[string]struct {
		out    []Message
		closes []string
	}{
		"unknown event":          {[]Message{good}, []string{"$by", "$unknown"}},
		"event of another room":  {[]Message{good}, []string{"$by", "$elsewhere"}},
		"message without a room": {[]Message{good, {Txn: "y"}}, []string{"$by"}},
	} {
		for step, do := range map[string]func(j *Journal, t Task) error{
			"resume": func(j *Journal, t Task) error { return j.Tasks.Resume(ctx, t, c.out, c.closes...) },
			"answer": func(j *Journal, t Task) error { return j.Tasks.Answer(ctx, t, c.out, c.closes...) },
			"reply":  func(j *Journal, _ Task) error { return j.Messages.Reply(ctx, "!a", c.out, c.closes...) },
		} {
			t.Run(step+" with "+name, func(t *testing.T) {
				j := newJournal(t)
				task := queueTask(t, j, "!a", "$1")
				commit(t, j, "t", anEvent("!a", "$by", Pending), anEvent("!b", "$elsewhere", Pending))
				must(t, j.Tasks.Wait(ctx, task, nil))
				if err := do(j, task); err == nil || (len(c.out) == 1) != errors.Is(err, ErrNotFound) {
					t.Errorf("error %v", err)
				}
				got, err := j.Tasks.Get(ctx, "$1")
				must(t, err)
				by, err := j.Events.Get(ctx, "!a", "$by")
				must(t, err)
				unsent, err := j.Messages.Unsent(ctx, "!a")
				must(t, err)
				if got.State != TaskWaiting || by.Status != Pending || len(unsent) > 0 {
					t.Errorf("half a step: %s, closing event %d, messages %v", got.State, by.Status, txns(unsent))
				}
			})
		}
	}
	j := newJournal(t)
	commit(t, j, "t", anEvent("!a", "$1", Pending))
	if err := j.Tasks.Enqueue(ctx, work("!a", "$1"), Message{Txn: "y"}); err == nil {
		t.Error("a message without a room was taken")
	}
	if row, err := j.Events.Get(ctx, "!a", "$1"); err != nil || row.Status != Pending {
		t.Errorf("half a task: %d, %v", row.Status, err)
	}
	if _, err := j.Tasks.Get(ctx, "$1"); !errors.Is(err, ErrNotFound) {
		t.Errorf("half a task: %v", err)
	}
}

// A task that runs says so when the bot leaves its room, whoever notices that first: the journal, or the task itself.
func TestFinishUpToSaysWhatRan(t *testing.T) {
	j := newJournal(t)
	queueTask(t, j, "!a", "$queued")
	must(t, j.Tasks.Claim(ctx, queueTask(t, j, "!a", "$running")))
	must(t, j.Tasks.FinishUpTo(ctx, "!a", 1000))
	must(t, j.Tasks.GiveUp(ctx, "$running", "late"))
	for key, want := range map[string]string{
		"$queued": "The bot left the room.", "$running": LeftWhileRunning,
	} {
		if got, err := j.Tasks.Get(ctx, key); err != nil || got.State != TaskDone || got.Error != want {
			t.Errorf("%s: %s, %q, %v", key, got.State, got.Error, err)
		}
	}
}
