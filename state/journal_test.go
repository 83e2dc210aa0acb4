package state

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"matrix-tui/state/event"
)

func TestCommit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "journal.db")
	j := openJournal(t, path)
	a, b, c := anEvent("!a", "$1", Pending), anEvent("!a", "$2", Archived), anEvent("!b", "$1", Pending)
	b.Encryption, b.Session, b.Body, b.Raw = event.MissingKey, "s", event.Body{}, []byte(`{"event_id":"$2"}`)
	fresh := commit(t, j, "t1", a, b)
	a.Seq, b.Seq = 1, 2
	if diff := cmp.Diff([]Event{a, b}, fresh, arrived); diff != "" {
		t.Error(diff)
	}
	fresh = commit(t, j, "t2", a, c, anEvent("", "$3", Pending), anEvent("!a", "", Pending), c)
	if diff := cmp.Diff([]string{"$1"}, ids(fresh)); diff != "" || fresh[0].Room != "!b" {
		t.Error("known events were taken for new:", diff)
	}
	commit(t, j, "t3")
	commit(t, j, "")
	if token, err := j.Events.NextBatch(ctx); token != "t3" || err != nil {
		t.Errorf("token %q, %v", token, err)
	}

	must(t, j.db.Close())
	j = openJournal(t, path)
	for _, want := range []Event{a, b} {
		got, err := j.Events.Get(ctx, want.Room, want.ID)
		must(t, err)
		if diff := cmp.Diff(want, got, arrived); diff != "" {
			t.Error(diff)
		}
	}
	if _, err := j.Events.Get(ctx, "!b", "$2"); !errors.Is(err, ErrNotFound) {
		t.Errorf("error %v", err)
	}
	for room, want := range map[string]string{"!a": "$2", "!b": "$1", "!c": ""} {
		if got, err := j.Events.Last(ctx, room); got != want || err != nil {
			t.Errorf("last event of %s is %q, %v", room, got, err)
		}
	}
	if token, err := newJournal(t).Events.NextBatch(ctx); token != "" || err != nil {
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
	commit(t, j, "t", anEvent("!a", "$1", Archived), anEvent("!a", "$1200", Archived), anEvent("!b", "$7", Archived))
	var asked []string
	for i := range 1300 {
		asked = append(asked, fmt.Sprint("$", i))
	}
	got, err := j.Events.Known(ctx, "!a", math.MaxInt64, asked)
	must(t, err)
	if diff := cmp.Diff(map[string]bool{"$1": true, "$1200": true}, got); diff != "" {
		t.Error(diff)
	}
	got, err = j.Events.Known(ctx, "!a", 2, asked)
	must(t, err)
	if diff := cmp.Diff(map[string]bool{"$1": true}, got); diff != "" {
		t.Error("before the second event:", diff)
	}
	if got, err := j.Events.Known(ctx, "!a", math.MaxInt64, nil); len(got) != 0 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

// Each question finds its rows by the index that was made for it, and sorts
// nothing.
func TestQueriesUseIndices(t *testing.T) {
	j := newJournal(t)
	for query, index := range map[string]string{
		queryGap: "gap_room", queryGapRooms: "gap_room", queryHidden: "gap_room", queryUnclear: "gap_room",
		queryEvent: "sqlite_autoindex_event_1", queryLastEvent: "event_room", queryBeenIn: "event_room", queryBefore: "event_room", queryEdits: "event_room",
		queryPending: "event_pending", queryPendingType: "event_pending", queryPendingRooms: "event_pending", queryPendingOf: "event_pending", queryBusyRooms: "event_pending", queryFinishEvents: "event_pending",
		queryPendingEdit: "event_edits", queryLastEdit: "event_edits", queryUndecrypted: "event_undecrypted", queryCountKeyless: "event_undecrypted", queryAwaiting: "event_undecrypted",
		queryTask: "sqlite_autoindex_task_1", queryExecution: "sqlite_autoindex_task_2", queryTaskOf: "sqlite_autoindex_task_3", queryInThread: "task_thread",
		queryLastTask: "task_begun", queryPartOf: "task_begun", queryLastActive: "task_begun", queryNextTask: "task_open", queryTasks: "task_open", queryCountTasks: "task_open", queryTaskRooms: "task_open",
		queryFinishTasks: "task_open", queryWaiting: "task_waiting", queryWaitingIn: "task_waiting", queryTasksToMove: "sqlite_autoindex_task_3",
		queryMessage: "sqlite_autoindex_message_1", queryMessageOf: "message_event", queryFilesOf: "message_event", queryUnsent: "message_unsent", queryUnsentRooms: "message_unsent", queryAnswered: "sqlite_autoindex_message_1",
		queryEntries: "sqlite_autoindex_entry_1", queryEntry: "sqlite_autoindex_entry_1", queryDue: "entry_next", queryZones: "entry_zone", queryNextEntry: "entry_next", stopRuns: "task_open",
		queryTxn: "sqlite_autoindex_message_1", querySaidAfter: "event_room", queryTextAfter: "message_at",
	} {
		plan, err := queryAll(ctx, j.db, func(row scanner) (string, error) {
			var text string
			return text, row.Scan(new(int), new(int), new(int), &text)
		}, "EXPLAIN QUERY PLAN "+query, []any{"1", "1", "1", "1"}[:strings.Count(query, "?")]...)
		must(t, err)
		if query == queryPending { // it also asks for gaps, with queryHidden
			plan = plan[:1]
		}
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
	var many []Event
	for i := range 500 {
		many = append(many, anEvent("!a", fmt.Sprint("$", i), Archived))
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
			commit(t, j, "t", anEvent("!a", "$1", Pending))
		})
	}
}

// A cancelled call is an error, and the next one works.
func TestJournalHonoursContext(t *testing.T) {
	j := newJournal(t)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := j.Events.Commit(gone, "t1", []Event{anEvent("!a", "$1", Pending)}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := j.Events.Pending(gone, "!a", 0, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if fresh := commit(t, j, "t1", anEvent("!a", "$1", Pending)); len(fresh) != 1 {
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
	must(t, j.Tasks.Claim(ctx, queueTask(t, j, "!a", "$1")))
	looked, err := ReadJournal(ctx, path)
	must(t, err)
	defer looked.Close()
	if last, err := looked.Tasks.Last(ctx, "!a"); err != nil || last.Event != "$1" {
		t.Errorf("%v, %v", last.Event, err)
	}
	commit(t, j, "t2", anEvent("!a", "$2", Pending))
	if last, err := looked.Events.Last(ctx, "!a"); err != nil || last != "$2" {
		t.Errorf("%v, %v", last, err)
	}
	if err := looked.Events.Finish(ctx, "!a", "$1"); err == nil {
		t.Error("a journal for reading was changed")
	}
}

// An event whose key comes is stored as what it says; until then it keeps its
// bytes, and is found by those who wait for keys.
func TestDecoded(t *testing.T) {
	j := newJournal(t)
	raw := []byte(`{"type":"m.room.encrypted"}`)
	missing := anEvent("!a", "$1", Pending)
	missing.Type, missing.Encryption, missing.Session, missing.Body, missing.Raw = event.TypeEncrypted, event.MissingKey, "s", event.Body{}, raw
	untrusted := missing
	untrusted.ID, untrusted.Encryption, untrusted.Distrust = "$2", event.Untrusted, "new device"
	decided := missing
	decided.ID, decided.Status = "$3", Done
	fresh := commit(t, j, "", missing, untrusted, decided, anEvent("!b", "$4", Pending))
	all, err := j.Undecrypted.In(ctx, "", 0, 9)
	must(t, err)
	if diff := cmp.Diff(fresh[:2], all); diff != "" {
		t.Error(diff)
	}
	if n, err := j.Undecrypted.Count(ctx, "!a", fresh[1].Seq); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	edit := fresh[0]
	edit.Type, edit.Encryption, edit.Session, edit.Raw = event.TypeMessage, event.Decrypted, "", nil
	edit.Body.Message = &event.Message{MsgType: "m.text", Body: "* b", NewContent: &event.Text{Body: "b"}, RelatesTo: event.Relation{RelType: "m.replace", EventID: "$0"}}
	must(t, j.Undecrypted.Decoded(ctx, edit))
	if all, err = j.Undecrypted.In(ctx, "", 0, 9); err != nil || cmp.Diff([]string{"$2"}, ids(all)) != "" {
		t.Errorf("%v, %v", ids(all), err)
	}
	got, err := j.Events.PendingEdit(ctx, "!a", "$0", "@alice:x")
	must(t, err)
	if diff := cmp.Diff(edit, got); diff != "" {
		t.Error(diff)
	}
	if _, err := j.Events.PendingEdit(ctx, "!a", "$0", "@mallory:x"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	edit.ID = "$unknown"
	if err := j.Undecrypted.Decoded(ctx, edit); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}
