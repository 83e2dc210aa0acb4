package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rs/zerolog"
)

func event(room, id string, status Status) Inbound {
	return Inbound{
		Room: room, Event: id, Sender: "@alice:x", Type: "m.room.message", Status: status,
		Time: time.UnixMilli(1700000000123).UTC(), Raw: []byte(`{"event_id":"` + id + `"}`),
	}
}

func message(txn, room, task string) Outbound {
	return Outbound{Txn: txn, Room: room, Type: "m.room.message", Content: []byte(`{"body":"` + txn + `"}`), Task: task}
}

func commit(t testing.TB, j *Journal, token string, events ...Inbound) []Inbound {
	t.Helper()
	fresh, err := j.Commit(ctx, token, events)
	must(t, err)
	return fresh
}

func ids(rows []Inbound) (out []string) {
	for _, r := range rows {
		out = append(out, r.Event)
	}
	return out
}

func txns(rows []Outbound) (out []string) {
	for _, r := range rows {
		out = append(out, r.Txn)
	}
	return out
}

func TestCommit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "journal.db")
	j := openJournal(t, path)
	a, b, c := event("!a", "$1", Pending), event("!a", "$2", Archived), event("!b", "$1", Pending)
	b.Raw, b.Task = nil, []byte(`{"n":1}`)
	fresh := commit(t, j, "t1", a, b)
	a.Seq, b.Seq = 1, 2
	if diff := cmp.Diff([]Inbound{a, b}, fresh); diff != "" {
		t.Error(diff)
	}
	fresh = commit(t, j, "t2", a, c, event("", "$3", Pending), event("!a", "", Pending), c)
	if diff := cmp.Diff([]string{"$1"}, ids(fresh)); diff != "" || fresh[0].Room != "!b" {
		t.Error("known events were taken for new:", diff)
	}
	commit(t, j, "t3")
	commit(t, j, "")
	if token, err := j.NextBatch(ctx); token != "t3" || err != nil {
		t.Errorf("token %q, %v", token, err)
	}

	must(t, j.db.Close())
	j = openJournal(t, path)
	for _, want := range []Inbound{a, b} {
		got, err := j.Event(ctx, want.Room, want.Event)
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	if _, err := j.Event(ctx, "!b", "$2"); !errors.Is(err, ErrNotFound) {
		t.Errorf("error %v", err)
	}
	for room, want := range map[string]string{"!a": "$2", "!b": "$1", "!c": ""} {
		if got, err := j.LastEvent(ctx, room); got != want || err != nil {
			t.Errorf("last event of %s is %q, %v", room, got, err)
		}
	}
	if token, err := newJournal(t).NextBatch(ctx); token != "" || err != nil {
		t.Errorf("token of a new journal is %q, %v", token, err)
	}
	for suffix := range strings.SplitSeq(",-wal", ",") {
		info, err := os.Stat(path + suffix)
		must(t, err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %o", info.Name(), info.Mode().Perm())
		}
	}
}

func TestKnown(t *testing.T) {
	j := newJournal(t)
	commit(t, j, "t", event("!a", "$1", Archived), event("!a", "$1200", Archived), event("!b", "$7", Archived))
	var asked []string
	for i := range 1300 {
		asked = append(asked, fmt.Sprint("$", i))
	}
	got, err := j.Known(ctx, "!a", asked)
	must(t, err)
	if diff := cmp.Diff(map[string]bool{"$1": true, "$1200": true}, got); diff != "" {
		t.Error(diff)
	}
	if got, err := j.Known(ctx, "!a", nil); len(got) != 0 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

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
	commit(t, j, "t", event("!old", "$1", Pending), event("!old", "$2", Pending), event("!old", "$3", Archived), event("!old", "$4", Done))
	must(t, j.Claim(ctx, "!old", "$1", []byte(`{"run":"r"}`)))
	must(t, j.Queue(ctx, message("x1", "!old", ""), message("x2", "!old", "$1")))
	must(t, j.MarkSent(ctx, "x1", "$e"))
	for range 2 {
		must(t, j.MoveRoom(ctx, "!old", "!new"))
	}
	must(t, j.MoveRoom(ctx, "!new", "!new"))
	if j.MoveRoom(ctx, "!new", "") == nil {
		t.Error("moved to nowhere")
	}

	rows, err := j.Unfinished(ctx, "!new")
	must(t, err)
	want := []Inbound{event("!new", "$1", Running), event("!new", "$2", Pending)}
	want[0].Task = []byte(`{"run":"r"}`)
	if diff := cmp.Diff(want, rows, cmpopts.IgnoreFields(Inbound{}, "Seq")); diff != "" {
		t.Error(diff)
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
	for room, want := range map[string][]string{"!new": {"x2"}, "!old": nil} {
		unsent, err := j.Unsent(ctx, room)
		must(t, err)
		if diff := cmp.Diff(want, txns(unsent)); diff != "" {
			t.Error(room, diff)
		}
	}
}

func TestPurge(t *testing.T) {
	j := newJournal(t)
	commit(t, j, "t",
		event("!a", "$archived", Archived), event("!a", "$done", Done), event("!a", "$pending", Pending),
		event("!a", "$running", Pending), event("!a", "$answered", Pending), event("!a", "$unsent", Done),
		event("!a", "$task", Pending), event("!a", "$newest", Archived), event("!b", "$only", Archived))
	must(t, j.Claim(ctx, "!a", "$running", nil))
	must(t, j.Answer(ctx, "!a", "$answered", nil, []Outbound{message("of-answered", "!a", "$answered")}))
	must(t, j.Claim(ctx, "!a", "$task", nil))
	must(t, j.Finish(ctx, "!a", "$task"))
	must(t, j.Queue(ctx, message("sent", "!a", "$done"), message("refused", "!a", ""), message("unsent", "!a", "$unsent")))
	must(t, j.MarkSent(ctx, "of-answered", "$e1"))
	must(t, j.MarkSent(ctx, "sent", "$e2"))
	must(t, j.MarkRefused(ctx, "refused", "why"))

	n, err := j.Purge(ctx, time.Now().Add(-time.Hour))
	must(t, err)
	if n != 0 {
		t.Errorf("%d rows younger than the time are gone", n)
	}
	later := time.Now().Add(time.Hour)
	n, err = j.Purge(ctx, later)
	must(t, err)
	if n != 4 {
		t.Errorf("%d rows are gone, want 4", n)
	}
	all, err := j.Known(ctx, "!a", []string{"$archived", "$done", "$pending", "$running", "$answered", "$unsent", "$task", "$newest"})
	must(t, err)
	want := map[string]bool{"$pending": true, "$running": true, "$answered": true, "$unsent": true, "$task": true, "$newest": true}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
	if last, err := j.LastEvent(ctx, "!b"); last != "$only" || err != nil {
		t.Errorf("last event of a quiet room: %q, %v", last, err)
	}
	for txn, kept := range map[string]bool{"of-answered": true, "unsent": true, "sent": false, "refused": false} {
		if _, err := j.Outbound(ctx, txn); (err == nil) != kept {
			t.Errorf("%s: %v", txn, err)
		}
	}
}

func TestPurgeOfMany(t *testing.T) {
	j := newJournal(t)
	var many []Inbound
	for i := range 3*purgeStep + 7 {
		many = append(many, event("!a", fmt.Sprint("$", i), Archived))
	}
	commit(t, j, "t", many...)
	n, err := j.Purge(ctx, time.Now().Add(time.Hour))
	must(t, err)
	if want := int64(len(many) - 1); n != want || countRows(t, j, "inbound") != 1 {
		t.Errorf("%d rows are gone, want %d", n, want)
	}
}

// Each question finds its rows by the index that was made for it, and sorts
// nothing.
func TestQueriesUseIndices(t *testing.T) {
	j := newJournal(t)
	for query, index := range map[string]string{
		queryEvent: "sqlite_autoindex_inbound_1", queryLastEvent: "inbound_room", queryLastTask: "inbound_task",
		queryUnfinished: "inbound_unfinished", queryUnfinishedRooms: "inbound_unfinished",
		queryOutbound: "sqlite_autoindex_outbound_1", queryUnsent: "outbound_unsent", queryUnsentRooms: "outbound_unsent",
	} {
		plan, err := queryAll(ctx, j.db, func(row scanner) (string, error) {
			var text string
			return text, row.Scan(new(int), new(int), new(int), &text)
		}, "EXPLAIN QUERY PLAN "+query, []any{"1", "1"}[:strings.Count(query, "?")]...)
		must(t, err)
		if len(plan) != 1 || !strings.Contains(plan[0]+" ", "INDEX "+index+" ") {
			t.Errorf("%s\n\t%s", query, strings.Join(plan, "\n\t"))
		}
	}
}

func TestJournalRefusesNewerSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := openJournal(t, path)
	_, err := j.db.Exec("PRAGMA user_version = 99")
	must(t, err)
	must(t, j.db.Close())
	_, err = OpenJournal(ctx, path, zerolog.Nop())
	wantSentence(t, err, "newer matrix-tui")
	if !errors.Is(err, ErrNewer) {
		t.Error(err)
	}
	_, err = ReadJournal(ctx, path)
	wantSentence(t, err, "newer matrix-tui")
}

func TestJournalMovesDamagedFileAside(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "journal.db")
	j := openJournal(t, whole)
	var many []Inbound
	for i := range 500 {
		many = append(many, event("!a", fmt.Sprint("$", i), Archived))
	}
	commit(t, j, "t", many...)
	must(t, j.db.Close())
	data, err := os.ReadFile(whole)
	must(t, err)
	tests := map[string][]byte{
		"cut in half": data[:len(data)/2],
		"no database": []byte(strings.Repeat("no database ", 1000)),
	}
	for name, content := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.db")
			must(t, os.WriteFile(path, content, 0o600))
			j := openJournal(t, path)
			if j.Corrupt() == "" {
				t.Fatal("a damaged journal was opened")
			}
			kept, err := os.ReadFile(j.Corrupt())
			must(t, err)
			if diff := cmp.Diff(content, kept); diff != "" {
				t.Error("the moved file was changed")
			}
			commit(t, j, "t", event("!a", "$1", Pending))
		})
	}
}

// A cancelled call is an error, and the next one works.
func TestJournalHonoursContext(t *testing.T) {
	j := newJournal(t)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := j.Commit(gone, "t1", []Inbound{event("!a", "$1", Pending)}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := j.Unfinished(gone, "!a"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if fresh := commit(t, j, "t1", event("!a", "$1", Pending)); len(fresh) != 1 {
		t.Error("the cancelled commit left something")
	}
}

// Another process may look while the bot works.
func TestReadJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a dir?&%", "journal.db")
	if _, err := ReadJournal(ctx, path); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	j := openJournal(t, path)
	commit(t, j, "t", event("!a", "$1", Pending))
	must(t, j.Claim(ctx, "!a", "$1", nil))
	looked, err := ReadJournal(ctx, path)
	must(t, err)
	defer looked.Close()
	if last, err := looked.LastTask(ctx, "!a"); err != nil || last.Event != "$1" {
		t.Errorf("%v, %v", last.Event, err)
	}
	commit(t, j, "t2", event("!a", "$2", Pending))
	if last, err := looked.LastEvent(ctx, "!a"); err != nil || last != "$2" {
		t.Errorf("%v, %v", last, err)
	}
	if err := looked.Finish(ctx, "!a", "$1"); err == nil {
		t.Error("a journal for reading was changed")
	}
}
