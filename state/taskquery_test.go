package state

import (
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The worker gets the oldest task that is not waiting and not done, by the order
// of their events, however late they were decided.
func TestNextTask(t *testing.T) {
	j := newJournal(t)
	commit(t, j, "t", anEvent("!a", "$1", Pending), anEvent("!a", "$2", Pending), anEvent("!a", "$3", Pending), anEvent("!b", "$4", Pending))
	for _, e := range [][2]string{{"!a", "$3"}, {"!b", "$4"}, {"!a", "$1"}} { // the key of $2 is missing
		must(t, j.Tasks.Enqueue(ctx, work(e[0], e[1])))
	}
	next := func(want string) {
		t.Helper()
		if got, err := j.Tasks.Next(ctx, "!a"); got.Key != want || (err != nil) != (want == "") {
			t.Errorf("next is %q, %v; want %q", got.Key, err, want)
		}
	}
	next("$1")
	if n, err := j.Tasks.Count(ctx, "!a", TaskQueued); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	must(t, j.Tasks.Wait(ctx, work("!a", "$1"), nil))
	next("$3")
	must(t, j.Tasks.Enqueue(ctx, work("!a", "$2")))
	next("$2")
	must(t, j.Tasks.Claim(ctx, work("!a", "$2")))
	if running, err := j.Tasks.In(ctx, "!a", TaskRunning); err != nil || cmp.Diff([]string{"$2"}, keys(running)) != "" {
		t.Errorf("%v, %v", keys(running), err)
	}
	must(t, j.Tasks.Resume(ctx, work("!a", "$1"), nil)) // it was there first
	next("$1")
	must(t, j.Tasks.FinishUpTo(ctx, "!a", 3))
	next("$3")
	if rooms, err := j.Events.UnfinishedRooms(ctx); err != nil || cmp.Diff([]string{"!a", "!b"}, rooms) != "" {
		t.Errorf("%v, %v", rooms, err)
	}
	must(t, j.Tasks.Finish(ctx, "$3"))
	next("")
	commit(t, j, "t", anEvent("!0", "$5", Pending))
	if rooms, err := j.Events.UnfinishedRooms(ctx); err != nil || cmp.Diff([]string{"!0", "!b"}, rooms) != "" {
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
	rows := commit(t, j, "t", anEvent("!a", "$encrypted", Pending), anEvent("!b", "$x", Pending), anEvent("!a", "$stop", Pending), anEvent("!a", "$more", Pending))
	for _, c := range []struct {
		after int64
		n     int
		want  []string
	}{
		{0, 1, []string{"$encrypted"}},
		{rows[0].Seq, 1, []string{"$stop"}},
		{rows[0].Seq, 9, []string{"$stop", "$more"}},
		{rows[3].Seq, 9, nil},
	} {
		got, err := j.Events.Pending(ctx, "!a", c.after, c.n)
		must(t, err)
		if diff := cmp.Diff(c.want, ids(got)); diff != "" {
			t.Error(diff)
		}
	}
	if got, err := j.Events.PendingType(ctx, "!a", "m.room.message"); err != nil || got.ID != "$encrypted" {
		t.Errorf("%s, %v", got.ID, err)
	}
	if _, err := j.Events.PendingType(ctx, "!a", "m.room.tombstone"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	must(t, j.Events.FinishUpTo(ctx, "!a", rows[3].Seq))
	must(t, j.Events.Finish(ctx, "!b", "$x"))
	if got, err := j.Events.Pending(ctx, "!a", 0, 9); err != nil || cmp.Diff([]string{"$more"}, ids(got)) != "" {
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
	rows = commit(t, j, "t", rows...)
	must(t, j.inTx(ctx, func(tx *sql.Tx) error { // only the reading is looked at
		for _, row := range rows {
			task := work(row.Room, row.ID)
			task.Seq = row.Seq
			if err := insertTask(ctx, tx, task, nil); err != nil {
				return err
			}
		}
		return nil
	}))
	_, err := j.db.Exec("UPDATE task SET state = 'waiting'")
	must(t, err)
	got, err := j.Tasks.Waiting(ctx)
	must(t, err)
	if diff := cmp.Diff(want, keys(got)); diff != "" {
		t.Error(diff)
	}
	if got, err = j.Tasks.WaitingIn(ctx, "!1"); err != nil || cmp.Diff(first, keys(got)) != "" {
		t.Errorf("%d in the room, want %d, %v", len(got), len(first), err)
	}
	if got, err := j.Tasks.WaitingIn(ctx, "!none"); len(got) > 0 || err != nil {
		t.Errorf("%v, %v", keys(got), err)
	}
}

func TestUnknownRows(t *testing.T) {
	j := newJournal(t)
	for name, err := range map[string]error{
		"claim":   j.Tasks.Claim(ctx, work("!a", "$1")),
		"answer":  j.Tasks.Answer(ctx, work("!a", "$1"), []Message{message("x", "!a", "$1")}),
		"finish":  j.Events.Finish(ctx, "!a", "$1"),
		"end":     j.Tasks.Finish(ctx, "$1"),
		"sent":    j.Messages.MarkSent(ctx, "x", "$2"),
		"refused": j.Messages.MarkRefused(ctx, "x", "why"),
	} {
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := j.Tasks.Last(ctx, "!a"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	must(t, j.Messages.Queue(ctx))
}
