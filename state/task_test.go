package state

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
	must(t, j.Tasks.Enqueue(ctx, want))
	want.Seq = fresh[1].Seq
	check := func() {
		t.Helper()
		must(t, j.Close())
		j = openJournal(t, path)
		for _, look := range []func() (Task, error){
			func() (Task, error) { return j.Tasks.Get(ctx, want.Key) },
			func() (Task, error) { return j.Tasks.Of(ctx, "!a", "$1") },
			func() (Task, error) { return j.Tasks.ByExecution(ctx, want.Execution) },
			func() (Task, error) { return j.Tasks.Next(ctx, "!a") },
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
	must(t, j.Tasks.Note(ctx, want))
	check()
	if row, err := j.Events.Get(ctx, "!a", "$1"); err != nil || row.Status != Done {
		t.Errorf("the event has status %d, %v", row.Status, err)
	}
	if err := j.Tasks.Enqueue(ctx, want); !errors.Is(err, ErrFinished) {
		t.Errorf("an event was decided twice: %v", err)
	}
	if err := j.Tasks.Enqueue(ctx, work("!a", "$unknown")); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

// A task by HTTP comes with an event of its own, once, and its messages.
func TestSubmit(t *testing.T) {
	j := newJournal(t)
	e := anEvent("!a", "$http", Pending)
	for range 2 {
		must(t, j.Tasks.Submit(ctx, e, work("!a", "$http"), message("arrival", "!a", "$http")))
	}
	task, err := j.Tasks.Next(ctx, "!a")
	must(t, err)
	row, err := j.Events.Get(ctx, "!a", "$http")
	must(t, err)
	unsent, err := j.Messages.Unsent(ctx, "!a")
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
		got, err := j.Tasks.Get(ctx, "$1")
		must(t, err)
		if got.State != want || got.Attempt != task.Attempt {
			t.Errorf("%s, attempt %d; want %s, %d", got.State, got.Attempt, want, task.Attempt)
		}
		task = got
		out, err := j.Messages.Unsent(ctx, "!a")
		must(t, err)
		if diff := cmp.Diff(unsent, txns(out)); diff != "" {
			t.Error("to be sent:", diff)
		}
		waits, err := j.Tasks.WaitingIn(ctx, "!a")
		must(t, err)
		_, err = j.Tasks.Next(ctx, "!a")
		if (len(waits) == 1) != (want == TaskWaiting) || (err == nil) != (want == TaskRunning || want == TaskAnswered) {
			t.Errorf("%s: waiting %v, next %v", want, keys(waits), err)
		}
	}
	out := func(txn string) []Message { return []Message{message(txn, "!a", "$1")} }
	step(func(t Task) error { return j.Tasks.Claim(ctx, t) }, TaskRunning)
	step(func(t Task) error { return j.Tasks.Note(ctx, t) }, TaskRunning)
	step(func(t Task) error { return j.Tasks.Wait(ctx, t, out("q0")) }, TaskWaiting, "q0")
	must(t, j.Messages.MarkSent(ctx, "q0", "$question"))
	step(func(t Task) error { return j.Tasks.Resume(ctx, t, out("going-on"), "$yes") }, TaskRunning, "going-on")
	if err := j.Tasks.Resume(ctx, task, nil, "$no"); !errors.Is(err, ErrFinished) {
		t.Errorf("a second answer was bound: %v", err)
	}
	must(t, j.Messages.Reply(ctx, "!a", out("first-stands"), "$no"))
	step(func(t Task) error { return j.Tasks.Wait(ctx, t, out("q1")) }, TaskWaiting, "going-on", "first-stands", "q1")
	step(func(t Task) error { return j.Tasks.Answer(ctx, t, out("stopped"), "$stop") }, TaskAnswered, "going-on", "first-stands", "q1", "stopped")
	for _, id := range []string{"$yes", "$no", "$stop"} {
		if row, err := j.Events.Get(ctx, "!a", id); err != nil || row.Status != Done {
			t.Errorf("%s has status %d, %v", id, row.Status, err)
		}
	}
	task.Attempt--
	step(func(Task) error { return j.Tasks.Finish(ctx, "$1") }, TaskDone, "going-on", "first-stands", "q1", "stopped")
	must(t, j.Tasks.Answer(ctx, task, out("again"))) // nothing happens
	if _, err := j.Messages.Get(ctx, "again"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if last, err := j.Tasks.Last(ctx, "!a"); err != nil || last.Key != "$1" {
		t.Errorf("last task %v, %v", last.Key, err)
	}
	if rooms, err := j.Events.UnfinishedRooms(ctx); len(rooms) > 0 || err != nil {
		t.Errorf("still to be done: %v, %v", rooms, err)
	}
}

// A room that is removed loses the tasks that have ended, and no other room does. A task that is given up says why, once.
func TestRemoveTasks(t *testing.T) {
	j := newJournal(t)
	for _, room := range []string{"!gone", "!kept"} {
		must(t, j.Tasks.Claim(ctx, queueTask(t, j, room, "$done "+room)))
		must(t, j.Tasks.GiveUp(ctx, "$done "+room, "why"))
		must(t, j.Tasks.GiveUp(ctx, "$done "+room, "again"))
		queueTask(t, j, room, "$open "+room)
	}
	must(t, j.Removal.Room(ctx, "!gone"))
	for key, want := range map[string]TaskState{"$done !gone": "", "$open !gone": TaskQueued, "$done !kept": TaskDone, "$open !kept": TaskQueued} {
		rec, err := j.Tasks.Get(ctx, key)
		if rec.State != want || (err != nil) != (want == "") || want == TaskDone && rec.Error != "why" {
			t.Errorf("%s: %s %q, %v", key, rec.State, rec.Error, err)
		}
	}
	answered := queueTask(t, j, "!kept", "$answered")
	answered.Ended = "completed"
	must(t, j.Tasks.Answer(ctx, answered, nil))
	must(t, j.Tasks.GiveUp(ctx, "$answered", "why"))
	if rec, err := j.Tasks.Get(ctx, "$answered"); err != nil || rec.State != TaskDone || rec.Error != "" {
		t.Errorf("%+v, %v", rec, err)
	}
}
