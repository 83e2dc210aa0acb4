package state

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rs/zerolog"

	"matrix-tui/state/event"
)

// oldJournal writes a journal of schema 8 to path, as commit f0f53334 did, and adds statements.
func oldJournal(t *testing.T, path string, more ...string) {
	t.Helper()
	dump, err := os.ReadFile("testdata/journal8.sql")
	must(t, err)
	db, err := sql.Open("sqlite", path)
	must(t, err)
	defer db.Close()
	for _, statement := range append([]string{"PRAGMA journal_mode = WAL", string(dump)}, more...) {
		_, err := db.Exec(statement)
		must(t, err)
	}
}

// An imported journal keeps its content and has the same tables as a new one.
func TestImport(t *testing.T) {
	for name, more := range map[string][]string{
		"schema 8": nil,
		"schema 9": {"CREATE INDEX task_thread ON task (room, thread) WHERE thread <> ''", "DROP INDEX event_edit",
			"CREATE INDEX event_edits ON event (room, relates_to) WHERE rel_type = 'm.replace'", "PRAGMA user_version = 9"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.db")
			oldJournal(t, path, more...)
			before := withoutNew(rowsOf(t, assemble(&core{db: must1(sql.Open("sqlite", path))(t)})))
			_, err := ReadJournal(ctx, path) // reading changes nothing
			wantSentence(t, err, "start this release once")
			if !errors.Is(err, ErrOlder) {
				t.Error(err)
			}
			for range 2 { // the second time there is nothing to import
				j := openJournal(t, path)
				if diff := cmp.Diff(tables(t, newJournal(t)), tables(t, j)); diff != "" {
					t.Error("differs from a new journal:", diff)
				}
				if diff := cmp.Diff(before, withoutNew(rowsOf(t, j))); diff != "" || j.Corrupt() != "" {
					t.Error(j.Corrupt(), diff)
				}
				must(t, j.db.Close())
			}
			j := openJournal(t, path)
			commit(t, j, "s43", anEvent("!den:here", "$new", Pending))
			if e, err := j.Events.Get(ctx, "!den:here", "$new"); err != nil || e.Seq != 51 { // after the gap
				t.Errorf("%d, %v", e.Seq, err)
			}
			if task, err := j.Tasks.Next(ctx, "!den:here"); err != nil || task.Event != "$running" || len(task.Said) != 1 {
				t.Errorf("%+v, %v", task, err)
			}
			if asked, err := j.Tasks.Waiting(ctx); err != nil || len(asked) != 3 {
				t.Errorf("%v, %v", keys(asked), err)
			}
		})
	}
}

// withoutNew leaves out what schema 9 had in another form or not at all.
func withoutNew(rows map[string]string) map[string]string {
	maps.DeleteFunc(rows, func(key, _ string) bool { return strings.HasPrefix(key, "message ") })
	for key, row := range rows {
		if strings.HasPrefix(key, "event ") {
			rows[key] = strings.NewReplacer("addressee= ", "", "kind= ", "").Replace(row)
		}
	}
	return rows
}

// A message that is not sent yet says in its columns what its Matrix JSON said.
func TestImportUnsent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	var more []string
	want := map[string]Message{}
	add := func(eventType, content, about string, m Message) {
		m.Txn, m.Room, m.Kind, m.About = fmt.Sprint("x", len(more)), "!in:x", KindReply, about
		want[m.Txn] = m
		more = append(more, fmt.Sprintf(`INSERT INTO message (txn, room, kind, task, number, type, content, about, event, status, error, at)
			VALUES ('%s', '!in:x', 'reply', '', 0, '%s', '%s', '%s', '', 0, '', 1)`, m.Txn, eventType, content, about))
	}
	add("m.room.message", `{"msgtype":"m.notice","body":"a","m.mentions":{}}`, "", Message{Notice: true, Body: "a"})
	add("m.room.message", `{"msgtype":"m.text","body":"a","m.mentions":{"user_ids":["@a:x","@b:x"]},"m.relates_to":{"m.in_reply_to":{"event_id":"$1"}}}`, "",
		Message{Body: "a", Relation: Reply, Target: "$1", Mentions: []string{"@a:x", "@b:x"}})
	add("m.room.message", `{"body":"a","m.relates_to":{"rel_type":"m.thread","event_id":"$0","m.in_reply_to":{"event_id":"$1"}}}`, "", Message{Body: "a", Relation: Reply, Target: "$1", Thread: "$0"})
	add("m.room.message", `{"body":"a","m.relates_to":{"rel_type":"m.thread","event_id":"$0","is_falling_back":true,"m.in_reply_to":{"event_id":"$1"}}}`, "",
		Message{Body: "a", Relation: Follows, Target: "$1", Thread: "$0"})
	add("m.room.message", `{"body":"* a","m.new_content":{"body":"a"},"m.relates_to":{"rel_type":"m.replace","event_id":"txn:q"}}`, "q", Message{Body: "a", Relation: Edit})
	add("m.reaction", `{"m.relates_to":{"rel_type":"m.annotation","event_id":"$1","key":"✅"}}`, "", Message{Body: "✅", Relation: Reaction, Target: "$1"})
	add("m.room.redaction", `{"redacts":"txn:r"}`, "r", Message{Relation: Redaction})
	add("m.room.message", `{"msgtype":"m.image","body":"a.png","filename":"a.png","info":{"mimetype":"image/png","size":5,"w":2,"h":3},"url":"mxc://a/b"}`, "",
		Message{Body: "a.png", File: &event.FileInfo{URL: "mxc://a/b", MimeType: "image/png", Size: 5, Width: 2, Height: 3}})
	add("m.room.message", `{"body":"a","info":{"mimetype":"a/b","size":5},"file":{"url":"mxc://a/b","v":"v2","iv":"i","hashes":{"sha256":"h"},"key":{"k":"k","ext":true,"key_ops":["decrypt"]}}}`, "",
		Message{Body: "a", File: &event.FileInfo{URL: "mxc://a/b", MimeType: "a/b", Size: 5, Secret: &event.EncryptedFile{Version: "v2", IV: "i", SHA256: "h", Key: event.JWK{K: "k", Ext: true, KeyOps: []string{"decrypt"}}}}})
	oldJournal(t, path, more...)
	unsent, err := openJournal(t, path).Messages.Unsent(ctx, "!in:x")
	must(t, err)
	if len(unsent) != len(want) {
		t.Fatalf("%d messages", len(unsent))
	}
	for _, m := range unsent {
		if diff := cmp.Diff(want[m.Txn], m, cmpopts.IgnoreFields(Message{}, "Seq"), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", m.Txn, diff)
		}
	}
}

// tables returns what a journal consists of.
func tables(t *testing.T, j *Journal) []string {
	t.Helper()
	all, err := queryAll(ctx, j.db, scanText, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
	must(t, err)
	return all
}

// must1 returns a value, and fails the test if there is an error instead.
func must1[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T { t.Helper(); must(t, err); return value }
}

// A journal that is too old, or of no release, stays as it is.
func TestJournalTooOld(t *testing.T) {
	for version, want := range map[string]string{"7": "cannot import", "10": "cannot import", "11": "cannot import"} {
		path := filepath.Join(t.TempDir(), "journal.db")
		oldJournal(t, path, "PRAGMA user_version = "+version, "PRAGMA wal_checkpoint(TRUNCATE)")
		before := readFiles(t, path, "")
		_, err := OpenJournal(ctx, path, zerolog.Nop())
		wantSentence(t, err, want)
		if !errors.Is(err, ErrOlder) {
			t.Error(err)
		}
		if diff := cmp.Diff(before, readFiles(t, path, "")); diff != "" {
			t.Error("changed")
		}
	}
}

// If there is no space for the new tables, the journal stays unchanged.
func TestImportOnFullDisk(t *testing.T) {
	for name, left := range map[string]int64{"nothing left": 0, "too little for the indexes": 60 << 10} {
		t.Run(name, func(t *testing.T) {
			dir := smallDisk(t, "1m")
			path := filepath.Join(dir, "journal.db")
			oldJournal(t, path)
			free := fill(t, dir)
			ballast := filepath.Join(dir, "ballast")
			info, err := os.Stat(ballast)
			must(t, err)
			must(t, os.Truncate(ballast, info.Size()-left))
			_, err = OpenJournal(ctx, path, zerolog.Nop())
			wantSentence(t, err, "no space left in "+dir)

			free()
			if _, err := ReadJournal(ctx, path); !errors.Is(err, ErrOlder) {
				t.Errorf("half an import: %v", err)
			}
			j := openJournal(t, path)
			if token, err := j.Events.NextBatch(ctx); token != "s42" || err != nil || j.Corrupt() != "" {
				t.Errorf("token %q, %v, moved to %q", token, err, j.Corrupt())
			}
		})
	}
}
