package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A task that asks twice, each step with a restart behind it.
func TestQuestionsOfATask(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := openJournal(t, path)
	step := func(err error, status Status, task string, unsent ...string) {
		t.Helper()
		must(t, err)
		must(t, j.Close())
		j = openJournal(t, path)
		row, err := j.Event(ctx, "!a", "$task")
		must(t, err)
		if row.Status != status || string(row.Task) != task {
			t.Errorf("status %d with %s, want %d with %s", row.Status, row.Task, status, task)
		}
		out, err := j.Unsent(ctx, "!a")
		must(t, err)
		if diff := cmp.Diff(unsent, txns(out)); diff != "" {
			t.Error("to be sent:", diff)
		}
		waits, err := j.WaitingIn(ctx, "!a")
		must(t, err)
		if (len(waits) == 1) != (status == Waiting) {
			t.Errorf("status %d, waiting %v", status, ids(waits))
		}
	}
	commit(t, j, "t", event("!a", "$task", Pending), event("!a", "$yes", Pending), event("!a", "$no", Pending))
	step(j.Claim(ctx, "!a", "$task", []byte(`1`)), Running, `1`)
	step(j.Note(ctx, "!a", "$task", []byte(`2`)), Running, `2`)
	q0 := []Outbound{message("q0", "!a", "$task")}
	step(j.Wait(ctx, "!a", "$task", []byte(`3`), q0), Waiting, `3`, "q0")
	step(j.Wait(ctx, "!a", "$task", []byte(`4`), q0), Waiting, `4`, "q0")
	step(j.Wait(ctx, "!a", "$task", nil, []Outbound{message("reminder", "!a", "$task")}), Waiting, `4`, "q0", "reminder")
	step(j.MarkSent(ctx, "q0", "$question"), Waiting, `4`, "reminder")
	step(j.MarkSent(ctx, "reminder", "$reminder"), Waiting, `4`)
	rooms, err := j.UnfinishedRooms(ctx)
	must(t, err)
	unfinished, err := j.Unfinished(ctx, "!a")
	must(t, err)
	if diff := cmp.Diff([]string{"$yes", "$no"}, ids(unfinished)); diff != "" || len(rooms) != 1 {
		t.Error("a task that waits holds the lane:", rooms, diff)
	}

	step(j.Resume(ctx, "!a", "$task", []byte(`5`), []Outbound{message("going-on", "!a", "$task")}, "$yes"), Running, `5`, "going-on")
	if err := j.Resume(ctx, "!a", "$task", []byte(`6`), nil, "$no"); !errors.Is(err, ErrFinished) {
		t.Errorf("a second answer was bound: %v", err)
	}
	step(j.Reply(ctx, "!a", []Outbound{message("first-stands", "!a", "")}, "$no"), Running, `5`, "going-on", "first-stands")
	step(j.Reply(ctx, "!a", []Outbound{message("first-stands", "!a", "")}, "$no"), Running, `5`, "going-on", "first-stands")
	for _, id := range []string{"$yes", "$no"} {
		if row, err := j.Event(ctx, "!a", id); err != nil || row.Status != Done {
			t.Errorf("%s has status %d, %v", id, row.Status, err)
		}
	}
	step(j.Wait(ctx, "!a", "$task", nil, []Outbound{message("q1", "!a", "$task")}), Waiting, `5`, "going-on", "first-stands", "q1")
	commit(t, j, "t", event("!a", "$stop", Pending))
	step(j.Answer(ctx, "!a", "$task", []byte(`7`), []Outbound{message("stopped", "!a", "$task")}, "$stop"), Answered, `7`,
		"going-on", "first-stands", "q1", "stopped")
	if row, err := j.Event(ctx, "!a", "$stop"); err != nil || row.Status != Done {
		t.Errorf("what ended the task has status %d, %v", row.Status, err)
	}
}

// What each step does in each state: to which status it leads, or its error.
func TestStepsFromEachStatus(t *testing.T) {
	const (
		none = Status(-1) // ErrFinished, and nothing is changed
		skip = Status(-2) // nothing is changed, and that is no error
	)
	record := json.RawMessage(`{"new":1}`)
	out := []Outbound{message("x", "!a", "$1")}
	steps := map[string]struct {
		do     func(j *Journal, event string) error
		sends  bool
		closes bool
		want   map[Status]Status
	}{
		"claim": {func(j *Journal, e string) error { return j.Claim(ctx, "!a", e, record) }, false, false,
			map[Status]Status{Archived: Running, Pending: Running, Running: Running, Answered: none, Done: none, Waiting: none}},
		"note": {func(j *Journal, e string) error { return j.Note(ctx, "!a", e, record) }, false, false,
			map[Status]Status{Archived: none, Pending: Pending, Running: Running, Answered: none, Done: none, Waiting: none}},
		"wait": {func(j *Journal, e string) error { return j.Wait(ctx, "!a", e, record, out) }, true, false,
			map[Status]Status{Archived: Waiting, Pending: Waiting, Running: Waiting, Answered: none, Done: none, Waiting: Waiting}},
		"resume": {func(j *Journal, e string) error { return j.Resume(ctx, "!a", e, record, out, "$by") }, true, true,
			map[Status]Status{Archived: none, Pending: none, Running: none, Answered: none, Done: none, Waiting: Running}},
		"answer": {func(j *Journal, e string) error { return j.Answer(ctx, "!a", e, record, out, "$by") }, true, true,
			map[Status]Status{Archived: Answered, Pending: Answered, Running: Answered, Answered: Answered, Done: skip, Waiting: Answered}},
	}
	for name, step := range steps {
		for from, to := range step.want {
			t.Run(fmt.Sprintf("%s from %d", name, from), func(t *testing.T) {
				j := newJournal(t)
				before := event("!a", "$1", from)
				before.Task = []byte(`{"old":1}`)
				before.Seq = commit(t, j, "t", before, event("!a", "$by", Pending))[0].Seq
				err := step.do(j, "$1")
				want, closed, unsent := before, Pending, 0
				if to != none && to != skip {
					want.Status, want.Task = to, record
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
				got, err := j.Event(ctx, "!a", "$1")
				must(t, err)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
				if by, err := j.Event(ctx, "!a", "$by"); err != nil || by.Status != closed {
					t.Errorf("the closing event has status %d, want %d, %v", by.Status, closed, err)
				}
				if rows, err := j.Unsent(ctx, "!a"); err != nil || len(rows) != unsent {
					t.Errorf("%d messages queued, want %d, %v", len(rows), unsent, err)
				}
				if err := step.do(j, "$unknown"); !errors.Is(err, ErrNotFound) {
					t.Errorf("of an unknown event: %v", err)
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
		out    []Outbound
		closes []string
	}{
		"unknown event":          {[]Outbound{good}, []string{"$by", "$unknown"}},
		"event of another room":  {[]Outbound{good}, []string{"$by", "$elsewhere"}},
		"message without a room": {[]Outbound{good, {Txn: "y"}}, []string{"$by"}},
	} {
		for step, do := range map[string]func(j *Journal) error{
			"resume": func(j *Journal) error { return j.Resume(ctx, "!a", "$1", []byte(`2`), c.out, c.closes...) },
			"answer": func(j *Journal) error { return j.Answer(ctx, "!a", "$1", []byte(`2`), c.out, c.closes...) },
			"reply":  func(j *Journal) error { return j.Reply(ctx, "!a", c.out, c.closes...) },
		} {
			t.Run(step+" with "+name, func(t *testing.T) {
				j := newJournal(t)
				commit(t, j, "t", event("!a", "$1", Pending), event("!a", "$by", Pending), event("!b", "$elsewhere", Pending))
				must(t, j.Wait(ctx, "!a", "$1", []byte(`1`), nil))
				if err := do(j); err == nil || (len(c.out) == 1) != errors.Is(err, ErrNotFound) {
					t.Errorf("error %v", err)
				}
				row, err := j.Event(ctx, "!a", "$1")
				must(t, err)
				by, err := j.Event(ctx, "!a", "$by")
				must(t, err)
				unsent, err := j.Unsent(ctx, "!a")
				must(t, err)
				if row.Status != Waiting || string(row.Task) != `1` || by.Status != Pending || len(unsent) > 0 {
					t.Errorf("half a step: status %d with %s, closing event %d, messages %v", row.Status, row.Task, by.Status, txns(unsent))
				}
			})
		}
	}
}

// All rows that wait are given, however many, in order of arrival.
func TestWaitingOfManyRooms(t *testing.T) {
	j := newJournal(t)
	var all []Inbound
	var want, first []string
	for i := range 2*MaxBatch + 5 {
		room := fmt.Sprint("!", i*7919%3) // not in the order of their names
		e := event(room, fmt.Sprint("$", i), Waiting)
		if i%10 == 0 {
			e.Status = Pending
		} else if want = append(want, e.Event); room == "!1" {
			first = append(first, e.Event)
		}
		all = append(all, e)
	}
	commit(t, j, "t", all...)
	got, err := j.Waiting(ctx)
	must(t, err)
	if diff := cmp.Diff(want, ids(got)); diff != "" {
		t.Error(diff)
	}
	if got, err = j.WaitingIn(ctx, "!1"); err != nil || cmp.Diff(first, ids(got)) != "" {
		t.Errorf("%d in the room, want %d, %v", len(got), len(first), err)
	}
	if got, err := j.WaitingIn(ctx, "!none"); len(got) > 0 || err != nil {
		t.Errorf("%v, %v", ids(got), err)
	}

	var one []Inbound
	for i := range MaxBatch + 1 { // a page, and one row behind it
		one = append(one, event("!one", fmt.Sprint("$", i), Waiting))
	}
	commit(t, j, "t", one...)
	got, err = j.WaitingIn(ctx, "!one")
	must(t, err)
	if diff := cmp.Diff(ids(one), ids(got)); diff != "" {
		t.Error(diff)
	}
}

func TestOutboundOf(t *testing.T) {
	j := newJournal(t)
	must(t, j.Queue(ctx, message("x1", "!a", "$task"), message("x2", "!a", ""), message("x3", "!b", "")))
	must(t, j.MarkSent(ctx, "x1", "$question"))
	got, err := j.OutboundOf(ctx, "!a", "$question")
	must(t, err)
	want := message("x1", "!a", "$task")
	want.Event, want.Status = "$question", Sent
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Outbound{}, "Seq")); diff != "" {
		t.Error(diff)
	}
	for _, at := range [][2]string{{"!b", "$question"}, {"!a", "$other"}, {"!a", ""}} {
		if out, err := j.OutboundOf(ctx, at[0], at[1]); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s in %s is %s, %v", at[1], at[0], out.Txn, err)
		}
	}
}
