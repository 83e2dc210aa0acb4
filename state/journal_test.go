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
	"github.com/rs/zerolog"
)

func event(room, id string, status Status) Inbound {
	return Inbound{
		Room: room, Event: id, Sender: "@alice:x", Type: "m.room.message", Status: status,
		Time: time.UnixMilli(1700000000123).UTC(), Raw: []byte(`{"event_id":"` + id + `"}`),
	}
}

func message(txn, room, task string) Message {
	return Message{Txn: txn, Room: room, Kind: KindNotice, Type: "m.room.message", Content: []byte(`{"body":"` + txn + `"}`), Task: task}
}

// work is a task of an event; its key is the event.
func work(room, event string) Task {
	return Task{Key: event, Room: room, Event: event, Home: room, Execution: room + event, Source: FromRoom, Requester: "@alice:x", Text: "work"}
}

// queueTask commits an event and makes it a task.
func queueTask(t testing.TB, j *Journal, room, id string) Task {
	t.Helper()
	commit(t, j, "", event(room, id, Pending))
	must(t, j.Enqueue(ctx, work(room, id)))
	task, err := j.Task(ctx, id)
	must(t, err)
	return task
}

func keys(tasks []Task) (out []string) {
	for _, t := range tasks {
		out = append(out, t.Key)
	}
	return out
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

func txns(rows []Message) (out []string) {
	for _, r := range rows {
		out = append(out, r.Txn)
	}
	return out
}

func TestCommit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "journal.db")
	j := openJournal(t, path)
	a, b, c := event("!a", "$1", Pending), event("!a", "$2", Archived), event("!b", "$1", Pending)
	b.Raw = nil
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

// Each question finds its rows by the index that was made for it, and sorts
// nothing.
func TestQueriesUseIndices(t *testing.T) {
	j := newJournal(t)
	for query, index := range map[string]string{
		queryEvent: "sqlite_autoindex_inbound_1", queryLastEvent: "inbound_room", queryBefore: "inbound_room",
		queryPending: "inbound_pending", queryPendingType: "inbound_pending", queryPendingRooms: "inbound_pending", queryFinishEvents: "inbound_pending",
		queryTask: "sqlite_autoindex_task_1", queryExecution: "sqlite_autoindex_task_2", queryTaskOf: "sqlite_autoindex_task_3",
		queryLastTask: "task_begun", queryNextTask: "task_open", queryTasks: "task_open", queryCountTasks: "task_open", queryTaskRooms: "task_open",
		queryFinishTasks: "task_open", queryWaiting: "task_waiting", queryWaitingIn: "task_waiting", queryTasksToMove: "sqlite_autoindex_task_3",
		queryMessage: "sqlite_autoindex_message_1", queryMessageOf: "message_event", queryUnsent: "message_unsent", queryUnsentRooms: "message_unsent",
	} {
		plan, err := queryAll(ctx, j.db, func(row scanner) (string, error) {
			var text string
			return text, row.Scan(new(int), new(int), new(int), &text)
		}, "EXPLAIN QUERY PLAN "+query, []any{"1", "1", "1"}[:strings.Count(query, "?")]...)
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
	if _, err := j.Pending(gone, "!a", 0, 1); !errors.Is(err, context.Canceled) {
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
	must(t, j.Claim(ctx, queueTask(t, j, "!a", "$1")))
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
