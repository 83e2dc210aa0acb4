package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// One event from its arrival to its end, each step twice, as after a crash.
func TestWalk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := openJournal(t, path)
	twice := func(step func() error) {
		t.Helper()
		for range 2 {
			must(t, step())
			must(t, j.Close())
			j = openJournal(t, path)
		}
	}
	status := func(want Status, task string) {
		t.Helper()
		got, err := j.Event(ctx, "!a", "$1")
		must(t, err)
		if got.Status != want || string(got.Task) != task {
			t.Errorf("status %d with task %s, want %d with %s", got.Status, got.Task, want, task)
		}
	}
	twice(func() error { _, err := j.Commit(ctx, "t", []Inbound{event("!a", "$1", Pending)}); return err })
	status(Pending, "")
	twice(func() error { return j.Claim(ctx, "!a", "$1", []byte(`{"run":"r1"}`)) })
	status(Running, `{"run":"r1"}`)
	must(t, j.Claim(ctx, "!a", "$1", []byte(`{"run":"r1","tries":2}`)))
	out := []Outbound{message("x2", "!a", "$1"), message("x1", "!a", "$1")}
	twice(func() error { return j.Answer(ctx, "!a", "$1", nil, out) })
	status(Answered, `{"run":"r1","tries":2}`)
	if err := j.Claim(ctx, "!a", "$1", nil); !errors.Is(err, ErrFinished) {
		t.Errorf("an answered event was claimed: %v", err)
	}
	unsent, err := j.Unsent(ctx, "!a")
	must(t, err)
	out[0].Seq, out[1].Seq = unsent[0].Seq, unsent[0].Seq+1
	if diff := cmp.Diff(out, unsent); diff != "" {
		t.Error(diff)
	}
	twice(func() error { return j.MarkSent(ctx, "x2", "$reply") })
	twice(func() error { return j.MarkSent(ctx, "x1", "$reply2") })
	must(t, j.MarkRefused(ctx, "x1", "too late"))
	must(t, j.Answer(ctx, "!a", "$1", nil, out))
	twice(func() error { return j.Finish(ctx, "!a", "$1") })
	must(t, j.Answer(ctx, "!a", "$1", nil, []Outbound{message("x3", "!a", "$1")}))
	status(Done, `{"run":"r1","tries":2}`)
	if rooms, err := j.UnsentRooms(ctx); len(rooms) > 0 || err != nil {
		t.Errorf("still to be sent: %v, %v", rooms, err)
	}
	if rooms, err := j.UnfinishedRooms(ctx); len(rooms) > 0 || err != nil {
		t.Errorf("still to be done: %v, %v", rooms, err)
	}
	sent, err := j.Outbound(ctx, "x1")
	must(t, err)
	if sent.Status != Sent || sent.Event != "$reply2" || sent.Error != "" {
		t.Errorf("%+v", sent)
	}
	if last, err := j.LastTask(ctx, "!a"); err != nil || last.Event != "$1" {
		t.Errorf("last task %v, %v", last.Event, err)
	}
}

func TestAnswerIsOneTransaction(t *testing.T) {
	j := newJournal(t)
	commit(t, j, "t", event("!a", "$1", Pending))
	bad := Outbound{Txn: "x2"} // no room
	if err := j.Answer(ctx, "!a", "$1", []byte(`{}`), []Outbound{message("x1", "!a", "$1"), bad}); err == nil {
		t.Fatal("a message without a room was taken")
	}
	got, err := j.Event(ctx, "!a", "$1")
	must(t, err)
	if got.Status != Pending || got.Task != nil {
		t.Errorf("half an answer: status %d", got.Status)
	}
	if _, err := j.Outbound(ctx, "x1"); !errors.Is(err, ErrNotFound) {
		t.Errorf("half an answer: %v", err)
	}
}

func TestUnknownRows(t *testing.T) {
	j := newJournal(t)
	for name, err := range map[string]error{
		"claim":   j.Claim(ctx, "!a", "$1", nil),
		"answer":  j.Answer(ctx, "!a", "$1", nil, []Outbound{message("x", "!a", "$1")}),
		"finish":  j.Finish(ctx, "!a", "$1"),
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

func TestUnfinishedInOrder(t *testing.T) {
	j := newJournal(t)
	commit(t, j, "t1", event("!b", "$b", Pending), event("!a", "$5", Pending), event("!a", "$4", Archived), event("!a", "$3", Pending), event("!c", "$c", Done))
	commit(t, j, "t2", event("!a", "$2", Pending), event("!a", "$1", Pending))
	must(t, j.Claim(ctx, "!a", "$2", nil))
	must(t, j.Answer(ctx, "!a", "$3", nil, nil))
	must(t, j.Finish(ctx, "!a", "$5"))
	rows, err := j.Unfinished(ctx, "!a")
	must(t, err)
	if diff := cmp.Diff([]string{"$3", "$2", "$1"}, ids(rows)); diff != "" {
		t.Error(diff)
	}
	rooms, err := j.UnfinishedRooms(ctx)
	must(t, err)
	if diff := cmp.Diff([]string{"!a", "!b"}, rooms); diff != "" {
		t.Error(diff)
	}

	var many []Inbound
	for i := range MaxBatch + 5 {
		many = append(many, event("!many", fmt.Sprint("$", i), Pending))
	}
	commit(t, j, "t3", many...)
	rows, err = j.Unfinished(ctx, "!many")
	must(t, err)
	if len(rows) != MaxBatch || rows[0].Event != "$0" {
		t.Errorf("%d rows", len(rows))
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
	got, err := j.Outbound(ctx, "x1")
	must(t, err)
	if got.Status != Refused || got.Error != "M_FORBIDDEN" {
		t.Errorf("%+v", got)
	}
}

func TestJournalMoveRoom(t *testing.T) {
	j := newJournal(t)
	commit(t, j, "t", event("!old", "$1", Pending), event("!old", "$2", Pending), event("!old", "$3", Archived), event("!old", "$4", Done), event("!old", "$5", Pending))
	must(t, j.Claim(ctx, "!old", "$1", []byte(`{"run":"r"}`)))
	must(t, j.Wait(ctx, "!old", "$5", []byte(`{"asks":1}`), []Outbound{message("q", "!old", "$5")}))
	must(t, j.Queue(ctx, message("x1", "!old", ""), message("x2", "!old", "$1")))
	must(t, j.MarkSent(ctx, "x1", "$e"))
	must(t, j.Queue(ctx, message("x3", "!old", "$1")))
	carry := Carrier{
		Event: func(raw json.RawMessage) json.RawMessage { return json.RawMessage(`{"moved":` + string(raw) + `}`) },
		Message: func(o Outbound) Outbound {
			if o.Txn == "x3" {
				o.Status, o.Error = Refused, "it stays"
			}
			o.Content = json.RawMessage(`{"moved":` + string(o.Content) + `}`)
			return o
		},
	}
	for range 2 {
		must(t, j.MoveRoom(ctx, "!old", "!new", carry))
	}
	must(t, j.MoveRoom(ctx, "!new", "!new", carry))
	if j.MoveRoom(ctx, "!new", "", carry) == nil {
		t.Error("moved to nowhere")
	}

	rows, err := j.Unfinished(ctx, "!new")
	must(t, err)
	want := []Inbound{event("!new", "$1", Running), event("!new", "$2", Pending)}
	want[0].Task = []byte(`{"run":"r"}`)
	for i := range want {
		want[i].Raw = carry.Event(want[i].Raw)
	}
	if diff := cmp.Diff(want, rows, cmpopts.IgnoreFields(Inbound{}, "Seq")); diff != "" {
		t.Error(diff)
	}
	waits, err := j.WaitingIn(ctx, "!new")
	must(t, err)
	asking := event("!new", "$5", Waiting)
	asking.Task, asking.Raw = []byte(`{"asks":1}`), carry.Event(asking.Raw)
	if diff := cmp.Diff([]Inbound{asking}, waits, cmpopts.IgnoreFields(Inbound{}, "Seq")); diff != "" {
		t.Error(diff)
	}
	if all, err := j.Waiting(ctx); len(all) != 1 || err != nil {
		t.Errorf("left in the old room: %v, %v", ids(all), err)
	}
	if rows, err := j.Unfinished(ctx, "!old"); len(rows) > 0 || err != nil {
		t.Errorf("left in the old room: %v, %v", ids(rows), err)
	}
	if last, err := j.LastTask(ctx, "!old"); !errors.Is(err, ErrNotFound) {
		t.Errorf("the old room still has the task %s, %v", last.Event, err)
	}
	if fresh := commit(t, j, "t", event("!old", "$1", Pending)); len(fresh) > 0 {
		t.Error("a moved event came again and was taken for new")
	}
	for txn, status := range map[string]OutStatus{"x1": Sent, "x2": Unsent, "x3": Refused} {
		got, err := j.Outbound(ctx, txn)
		must(t, err)
		if moved := strings.HasPrefix(string(got.Content), `{"moved":`); got.Status != status || moved == (status == Sent) || (got.Error != "") != (status == Refused) {
			t.Errorf("%+v", got)
		}
	}
	for room, want := range map[string][]string{"!new": {"q", "x2"}, "!old": nil} {
		unsent, err := j.Unsent(ctx, room)
		must(t, err)
		if diff := cmp.Diff(want, txns(unsent)); diff != "" {
			t.Error(room, diff)
		}
	}
}
