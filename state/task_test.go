package state

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// fullTask has something in every field.
func fullTask(t *testing.T) Task {
	t.Helper()
	n := 0
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		n++
		switch at := v.Addr().Interface().(type) {
		case *time.Time:
			*at = time.Unix(1_700_000_000+int64(n), 123456789).UTC()
			return
		case *TaskState:
			*at = TaskQueued
			return
		}
		switch v.Kind() {
		case reflect.String:
			v.SetString(fmt.Sprint("text ", n))
		case reflect.Int, reflect.Int64:
			v.SetInt(int64(n))
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Struct:
			for i := range v.NumField() {
				fill(v.Field(i))
			}
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			fill(v.Index(0))
			fill(v.Index(1))
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem())
		default:
			t.Fatalf("a field of kind %s", v.Kind())
		}
	}
	var task Task
	fill(reflect.ValueOf(&task).Elem())
	return task
}

// Every field of a task survives, to the nanosecond.
func TestTaskKeepsEverything(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := openJournal(t, path)
	want := fullTask(t)
	want.Room, want.Event = "!a", "$1"
	fresh := commit(t, j, "t", anEvent("!a", "$0", Pending), anEvent("!a", "$1", Pending))
	must(t, j.Enqueue(ctx, want))
	want.Seq = fresh[1].Seq
	check := func() {
		t.Helper()
		must(t, j.Close())
		j = openJournal(t, path)
		for _, look := range []func() (Task, error){
			func() (Task, error) { return j.Task(ctx, want.Key) },
			func() (Task, error) { return j.TaskOf(ctx, "!a", "$1") },
			func() (Task, error) { return j.TaskByExecution(ctx, want.Execution) },
			func() (Task, error) { return j.NextTask(ctx, "!a") },
		} {
			got, err := look()
			must(t, err)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		}
	}
	check()
	want.Text, want.Said, want.Begun = "another", nil, time.Time{}
	must(t, j.Note(ctx, want))
	check()
	if row, err := j.Event(ctx, "!a", "$1"); err != nil || row.Status != Done {
		t.Errorf("the event has status %d, %v", row.Status, err)
	}
	if err := j.Enqueue(ctx, want); !errors.Is(err, ErrFinished) {
		t.Errorf("an event was decided twice: %v", err)
	}
	if err := j.Enqueue(ctx, work("!a", "$unknown")); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

// A task by HTTP comes with an event of its own, once, and its messages.
func TestSubmit(t *testing.T) {
	j := newJournal(t)
	e := anEvent("!a", "$http", Pending)
	for range 2 {
		must(t, j.Submit(ctx, e, work("!a", "$http"), message("arrival", "!a", "$http")))
	}
	task, err := j.NextTask(ctx, "!a")
	must(t, err)
	row, err := j.Event(ctx, "!a", "$http")
	must(t, err)
	unsent, err := j.Unsent(ctx, "!a")
	must(t, err)
	if task.Seq != row.Seq || row.Status != Done || len(unsent) != 1 {
		t.Errorf("task %d of event %d with status %d, messages %v", task.Seq, row.Seq, row.Status, txns(unsent))
	}
}

// One task from its message to its end, with a question; each step twice, as
// after a crash, with a restart behind it.
func TestWalk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := openJournal(t, path)
	task := queueTask(t, j, "!a", "$1")
	commit(t, j, "t", anEvent("!a", "$yes", Pending), anEvent("!a", "$no", Pending), anEvent("!a", "$stop", Pending))
	step := func(do func(Task) error, want TaskState, unsent ...string) {
		t.Helper()
		task.Attempt++
		for range 2 {
			if err := do(task); err != nil && !(errors.Is(err, ErrFinished) && task.State == TaskWaiting) { // a second answer
				t.Error(err)
			}
			must(t, j.Close())
			j = openJournal(t, path)
		}
		got, err := j.Task(ctx, "$1")
		must(t, err)
		if got.State != want || got.Attempt != task.Attempt {
			t.Errorf("%s, attempt %d; want %s, %d", got.State, got.Attempt, want, task.Attempt)
		}
		task = got
		out, err := j.Unsent(ctx, "!a")
		must(t, err)
		if diff := cmp.Diff(unsent, txns(out)); diff != "" {
			t.Error("to be sent:", diff)
		}
		waits, err := j.WaitingIn(ctx, "!a")
		must(t, err)
		_, err = j.NextTask(ctx, "!a")
		if (len(waits) == 1) != (want == TaskWaiting) || (err == nil) != (want == TaskRunning || want == TaskAnswered) {
			t.Errorf("%s: waiting %v, next %v", want, keys(waits), err)
		}
	}
	out := func(txn string) []Message { return []Message{message(txn, "!a", "$1")} }
	step(func(t Task) error { return j.Claim(ctx, t) }, TaskRunning)
	step(func(t Task) error { return j.Note(ctx, t) }, TaskRunning)
	step(func(t Task) error { return j.Wait(ctx, t, out("q0")) }, TaskWaiting, "q0")
	must(t, j.MarkSent(ctx, "q0", "$question"))
	step(func(t Task) error { return j.Resume(ctx, t, out("going-on"), "$yes") }, TaskRunning, "going-on")
	if err := j.Resume(ctx, task, nil, "$no"); !errors.Is(err, ErrFinished) {
		t.Errorf("a second answer was bound: %v", err)
	}
	must(t, j.Reply(ctx, "!a", out("first-stands"), "$no"))
	step(func(t Task) error { return j.Wait(ctx, t, out("q1")) }, TaskWaiting, "going-on", "first-stands", "q1")
	step(func(t Task) error { return j.Answer(ctx, t, out("stopped"), "$stop") }, TaskAnswered, "going-on", "first-stands", "q1", "stopped")
	for _, id := range []string{"$yes", "$no", "$stop"} {
		if row, err := j.Event(ctx, "!a", id); err != nil || row.Status != Done {
			t.Errorf("%s has status %d, %v", id, row.Status, err)
		}
	}
	task.Attempt--
	step(func(Task) error { return j.FinishTask(ctx, "$1") }, TaskDone, "going-on", "first-stands", "q1", "stopped")
	must(t, j.Answer(ctx, task, out("again"))) // nothing happens
	if _, err := j.Message(ctx, "again"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if last, err := j.LastTask(ctx, "!a"); err != nil || last.Key != "$1" {
		t.Errorf("last task %v, %v", last.Key, err)
	}
	if rooms, err := j.UnfinishedRooms(ctx); len(rooms) > 0 || err != nil {
		t.Errorf("still to be done: %v, %v", rooms, err)
	}
}

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
		"claim":  {func(j *Journal, t Task) error { return j.Claim(ctx, t) }, false, false, []TaskState{TaskRunning, TaskRunning, none, none, none}},
		"note":   {func(j *Journal, t Task) error { return j.Note(ctx, t) }, false, false, []TaskState{TaskQueued, TaskRunning, none, none, none}},
		"wait":   {func(j *Journal, t Task) error { return j.Wait(ctx, t, out) }, true, false, []TaskState{TaskWaiting, TaskWaiting, TaskWaiting, none, none}},
		"resume": {func(j *Journal, t Task) error { return j.Resume(ctx, t, out, "$by") }, true, true, []TaskState{none, none, TaskRunning, none, none}},
		"answer": {func(j *Journal, t Task) error { return j.Answer(ctx, t, out, "$by") }, true, true, []TaskState{TaskAnswered, TaskAnswered, TaskAnswered, TaskAnswered, skip}},
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
				got, err := j.Task(ctx, "$1")
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
			"resume": func(j *Journal, t Task) error { return j.Resume(ctx, t, c.out, c.closes...) },
			"answer": func(j *Journal, t Task) error { return j.Answer(ctx, t, c.out, c.closes...) },
			"reply":  func(j *Journal, _ Task) error { return j.Reply(ctx, "!a", c.out, c.closes...) },
		} {
			t.Run(step+" with "+name, func(t *testing.T) {
				j := newJournal(t)
				task := queueTask(t, j, "!a", "$1")
				commit(t, j, "t", anEvent("!a", "$by", Pending), anEvent("!b", "$elsewhere", Pending))
				must(t, j.Wait(ctx, task, nil))
				if err := do(j, task); err == nil || (len(c.out) == 1) != errors.Is(err, ErrNotFound) {
					t.Errorf("error %v", err)
				}
				got, err := j.Task(ctx, "$1")
				must(t, err)
				by, err := j.Event(ctx, "!a", "$by")
				must(t, err)
				unsent, err := j.Unsent(ctx, "!a")
				must(t, err)
				if got.State != TaskWaiting || by.Status != Pending || len(unsent) > 0 {
					t.Errorf("half a step: %s, closing event %d, messages %v", got.State, by.Status, txns(unsent))
				}
			})
		}
	}
	j := newJournal(t)
	commit(t, j, "t", anEvent("!a", "$1", Pending))
	if err := j.Enqueue(ctx, work("!a", "$1"), Message{Txn: "y"}); err == nil {
		t.Error("a message without a room was taken")
	}
	if row, err := j.Event(ctx, "!a", "$1"); err != nil || row.Status != Pending {
		t.Errorf("half a task: %d, %v", row.Status, err)
	}
	if _, err := j.Task(ctx, "$1"); !errors.Is(err, ErrNotFound) {
		t.Errorf("half a task: %v", err)
	}
}

// The worker gets the oldest task that is not waiting and not done, by the order
// of their events, however late they were decided.
func TestNextTask(t *testing.T) {
	j := newJournal(t)
	commit(t, j, "t", anEvent("!a", "$1", Pending), anEvent("!a", "$2", Pending), anEvent("!a", "$3", Pending), anEvent("!b", "$4", Pending))
	for _, e := range [][2]string{{"!a", "$3"}, {"!b", "$4"}, {"!a", "$1"}} { // the key of $2 is missing
		must(t, j.Enqueue(ctx, work(e[0], e[1])))
	}
	next := func(want string) {
		t.Helper()
		if got, err := j.NextTask(ctx, "!a"); got.Key != want || (err != nil) != (want == "") {
			t.Errorf("next is %q, %v; want %q", got.Key, err, want)
		}
	}
	next("$1")
	if n, err := j.CountTasks(ctx, "!a", TaskQueued); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	must(t, j.Wait(ctx, work("!a", "$1"), nil))
	next("$3")
	must(t, j.Enqueue(ctx, work("!a", "$2")))
	next("$2")
	must(t, j.Claim(ctx, work("!a", "$2")))
	if running, err := j.Tasks(ctx, "!a", TaskRunning); err != nil || cmp.Diff([]string{"$2"}, keys(running)) != "" {
		t.Errorf("%v, %v", keys(running), err)
	}
	must(t, j.Resume(ctx, work("!a", "$1"), nil)) // it was there first
	next("$1")
	must(t, j.FinishTasks(ctx, "!a", 3))
	next("$3")
	if rooms, err := j.UnfinishedRooms(ctx); err != nil || cmp.Diff([]string{"!a", "!b"}, rooms) != "" {
		t.Errorf("%v, %v", rooms, err)
	}
	must(t, j.FinishTask(ctx, "$3"))
	next("")
	commit(t, j, "t", anEvent("!0", "$5", Pending))
	if rooms, err := j.UnfinishedRooms(ctx); err != nil || cmp.Diff([]string{"!0", "!b"}, rooms) != "" {
		t.Errorf("%v, %v", rooms, err)
	}
}

// Events to be decided come in order, a page at a time, behind those that were
// passed; 2,000 tasks in line do not hide them.
func TestPending(t *testing.T) {
	j := newJournal(t)
	var many []Event
	for i := range 2 * MaxBatch {
		many = append(many, anEvent("!a", fmt.Sprint("$", i), Done))
	}
	commit(t, j, "t", many...)
	rows := commit(t, j, "t", anEvent("!a", "$sealed", Pending), anEvent("!b", "$x", Pending), anEvent("!a", "$stop", Pending), anEvent("!a", "$more", Pending))
	for _, c := range []struct {
		after int64
		n     int
		want  []string
	}{
		{0, 1, []string{"$sealed"}},
		{rows[0].Seq, 1, []string{"$stop"}},
		{rows[0].Seq, 9, []string{"$stop", "$more"}},
		{rows[3].Seq, 9, nil},
	} {
		got, err := j.Pending(ctx, "!a", c.after, c.n)
		must(t, err)
		if diff := cmp.Diff(c.want, ids(got)); diff != "" {
			t.Error(diff)
		}
	}
	if got, err := j.PendingType(ctx, "!a", "m.room.message"); err != nil || got.ID != "$sealed" {
		t.Errorf("%s, %v", got.ID, err)
	}
	if _, err := j.PendingType(ctx, "!a", "m.room.tombstone"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	must(t, j.FinishEvents(ctx, "!a", rows[3].Seq))
	must(t, j.Finish(ctx, "!b", "$x"))
	if got, err := j.Pending(ctx, "!a", 0, 9); err != nil || cmp.Diff([]string{"$more"}, ids(got)) != "" {
		t.Errorf("%v, %v", ids(got), err)
	}
}

// All tasks that wait are given, however many, in order of arrival.
func TestWaitingOfManyRooms(t *testing.T) {
	j := newJournal(t)
	var want, first []string
	var rows []Event
	for i := range MaxBatch + 5 {
		room := fmt.Sprint("!", i*7919%3) // not in the order of their names
		rows = append(rows, anEvent(room, fmt.Sprint("$", i), Pending))
		if want = append(want, rows[i].ID); room == "!1" {
			first = append(first, rows[i].ID)
		}
	}
	for i := range MaxBatch { // with one of them, a page
		rows = append(rows, anEvent("!1", fmt.Sprint("$more", i), Pending))
		want, first = append(want, rows[len(rows)-1].ID), append(first, rows[len(rows)-1].ID)
	}
	commit(t, j, "t", rows...)
	_, err := j.db.Exec("PRAGMA synchronous = OFF") // only the reading is looked at
	must(t, err)
	for _, row := range rows {
		must(t, j.Enqueue(ctx, work(row.Room, row.ID)))
	}
	_, err = j.db.Exec("UPDATE task SET state = 'waiting'")
	must(t, err)
	got, err := j.Waiting(ctx)
	must(t, err)
	if diff := cmp.Diff(want, keys(got)); diff != "" {
		t.Error(diff)
	}
	if got, err = j.WaitingIn(ctx, "!1"); err != nil || cmp.Diff(first, keys(got)) != "" {
		t.Errorf("%d in the room, want %d, %v", len(got), len(first), err)
	}
	if got, err := j.WaitingIn(ctx, "!none"); len(got) > 0 || err != nil {
		t.Errorf("%v, %v", keys(got), err)
	}
}

func TestUnknownRows(t *testing.T) {
	j := newJournal(t)
	for name, err := range map[string]error{
		"claim":   j.Claim(ctx, work("!a", "$1")),
		"answer":  j.Answer(ctx, work("!a", "$1"), []Message{message("x", "!a", "$1")}),
		"finish":  j.Finish(ctx, "!a", "$1"),
		"end":     j.FinishTask(ctx, "$1"),
		"sent":    j.MarkSent(ctx, "x", "$2"),
		"refused": j.MarkRefused(ctx, "x", "why"),
	} {
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := j.LastTask(ctx, "!a"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	must(t, j.Queue(ctx))
}

func TestMessageOf(t *testing.T) {
	j := newJournal(t)
	asked := message("x1", "!a", "$task")
	asked.Kind, asked.Number, asked.About = KindReminder, 3, "x0"
	must(t, j.Queue(ctx, asked, message("x2", "!a", ""), message("x3", "!b", "")))
	if next, err := j.NextMessage(ctx, "!a"); err != nil || next.Txn != "x1" {
		t.Errorf("%s, %v", next.Txn, err)
	}
	must(t, j.MarkSent(ctx, "x1", "$question"))
	got, err := j.MessageOf(ctx, "!a", "$question")
	must(t, err)
	asked.Event, asked.Status = "$question", Sent
	if diff := cmp.Diff(asked, got, cmpopts.IgnoreFields(Message{}, "Seq")); diff != "" {
		t.Error(diff)
	}
	for _, at := range [][2]string{{"!b", "$question"}, {"!a", "$other"}, {"!a", ""}} {
		if out, err := j.MessageOf(ctx, at[0], at[1]); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s in %s is %s, %v", at[1], at[0], out.Txn, err)
		}
	}
}

func TestRefused(t *testing.T) {
	j := newJournal(t)
	must(t, j.Queue(ctx, message("x1", "!a", ""), message("x2", "!a", "")))
	must(t, j.MarkRefused(ctx, "x1", "M_FORBIDDEN"))
	unsent, err := j.Unsent(ctx, "!a")
	must(t, err)
	if diff := cmp.Diff([]string{"x2"}, txns(unsent)); diff != "" {
		t.Error(diff)
	}
	got, err := j.Message(ctx, "x1")
	must(t, err)
	if got.Status != Refused || got.Error != "M_FORBIDDEN" {
		t.Errorf("%+v", got)
	}
	must(t, j.MarkSent(ctx, "x2", "$e"))
	must(t, j.MarkRefused(ctx, "x2", "too late"))
	if got, err := j.Message(ctx, "x2"); err != nil || got.Status != Sent || got.Error != "" {
		t.Errorf("%+v, %v", got, err)
	}
	if rooms, err := j.UnsentRooms(ctx); len(rooms) > 0 || err != nil {
		t.Errorf("still to be sent: %v, %v", rooms, err)
	}
}
