package state

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
)

// schema1 is the schema of version 1, exactly as released.
const schema1 = `
CREATE TABLE meta (
	key   TEXT PRIMARY KEY,
	value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE inbound (
	seq    INTEGER PRIMARY KEY AUTOINCREMENT,
	room   TEXT NOT NULL,
	event  TEXT NOT NULL,
	sender TEXT NOT NULL,
	type   TEXT NOT NULL,
	time   INTEGER NOT NULL, -- of the event, ms
	raw    TEXT NOT NULL,
	status INTEGER NOT NULL,
	task   TEXT,
	at     INTEGER NOT NULL, -- when the row came here, ms
	UNIQUE (room, event)
);
CREATE INDEX inbound_room ON inbound (room);
CREATE INDEX inbound_unfinished ON inbound (room) WHERE status IN (1, 2, 3);
CREATE INDEX inbound_task ON inbound (room) WHERE task IS NOT NULL;
CREATE INDEX inbound_at ON inbound (at);

CREATE TABLE outbound (
	seq     INTEGER PRIMARY KEY AUTOINCREMENT,
	txn     TEXT NOT NULL UNIQUE,
	room    TEXT NOT NULL,
	type    TEXT NOT NULL,
	content TEXT NOT NULL,
	task    TEXT NOT NULL, -- event of inbound, or ''
	event   TEXT NOT NULL, -- once sent
	status  INTEGER NOT NULL,
	error   TEXT NOT NULL,
	at      INTEGER NOT NULL
);
CREATE INDEX outbound_unsent ON outbound (room) WHERE status = 0;
CREATE INDEX outbound_at ON outbound (at);
`

// oldJournal creates a journal of version 1 with an event of each status and three
// messages.
func oldJournal(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	must(t, err)
	defer db.Close()
	for _, statement := range []string{
		"PRAGMA journal_mode = WAL",
		schema1,
		"PRAGMA user_version = 1",
		"INSERT INTO meta VALUES ('next_batch', 's42')",
		`INSERT INTO inbound (seq, room, event, sender, type, time, raw, status, task, at) VALUES
			(3, '!a', '$0', '@alice:x', 'm.room.message', 1700000000123, '{}', 0, NULL, 5),
			(5, '!a', '$1', '@alice:x', 'm.room.message', 1700000000123, '{}', 1, NULL, 5),
			(7, '!a', '$2', '@alice:x', 'm.room.message', 1700000000123, '{}', 2, '{"run":"r"}', 5),
			(8, '!b', '$3', '@alice:x', 'm.room.message', 1700000000123, '{}', 3, '{"run":"r"}', 5),
			(9, '!b', '$4', '@alice:x', 'm.room.message', 1700000000123, '{}', 4, '{"run":"r"}', 5)`,
		`INSERT INTO outbound (seq, txn, room, type, content, task, event, status, error, at) VALUES
			(2, '` + oldKey("!b", "$3") + `-f0', '!b', 'm.room.message', '{}', '$3', '', 0, '', 5),
			(4, 'x1', '!b', 'm.room.message', '{}', '$4', '$sent', 1, '', 5),
			(6, 'x2', '!b', 'm.room.message', '{}', '', '', 2, 'why', 5)`,
	} {
		_, err := db.Exec(statement)
		must(t, err)
	}
}

// dump returns the schema and content of a journal.
func dump(t *testing.T, j *Journal) (tables, rows []string) {
	t.Helper()
	tables, err := queryAll(ctx, j.db, scanText, "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
	must(t, err)
	rows, err = queryAll(ctx, j.db, scanText, `SELECT 'meta' || json_array(key, value) FROM meta
		UNION ALL SELECT 'in' || json_array(seq, room, event, sender, type, time, raw, status, at, encryption) FROM event
		UNION ALL SELECT 'task' || json_array(seq, room, event, state, run, at) FROM task
		UNION ALL SELECT 'out' || json_array(seq, txn, room, type, content, kind, task, event, status, error, at) FROM message`)
	must(t, err)
	return tables, rows
}

// A migrated journal keeps its content and has the same schema as a new one.
func TestJournalOfOlderSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	oldJournal(t, path)
	_, err := ReadJournal(ctx, path) // reading changes nothing
	wantSentence(t, err, "start this release once")
	if !errors.Is(err, ErrOlder) {
		t.Error(err)
	}
	b := oldKey("!b", "$3")
	want := []string{
		`meta["next_batch","s42"]`,
		`in[3,"!a","$0","@alice:x","m.room.message",1700000000123,"{}",0,5,"undecoded"]`,
		`in[5,"!a","$1","@alice:x","m.room.message",1700000000123,"{}",1,5,"undecoded"]`,
		`in[7,"!a","$2","@alice:x","m.room.message",1700000000123,"{}",4,5,"undecoded"]`,
		`in[8,"!b","$3","@alice:x","m.room.message",1700000000123,"{}",4,5,"undecoded"]`,
		`in[9,"!b","$4","@alice:x","m.room.message",1700000000123,"{}",4,5,"undecoded"]`,
		`task[7,"!a","$2","running","r",5]`,
		`task[8,"!b","$3","answered","r",5]`,
		`task[9,"!b","$4","done","r",5]`,
		`out[2,"` + b + `-f0","!b","m.room.message","{}","final","` + b + `","",0,"",5]`,
		`out[4,"x1","!b","m.room.message","{}","file","` + oldKey("!b", "$4") + `","$sent",1,"",5]`,
		`out[6,"x2","!b","m.room.message","{}","file","","",2,"why",5]`,
	}
	for range 2 { // the second time there is nothing to migrate
		j := openJournal(t, path)
		if j.Corrupt() != "" {
			t.Fatalf("moved to %s", j.Corrupt())
		}
		tables, rows := dump(t, j)
		fresh, _ := dump(t, newJournal(t))
		if diff := cmp.Diff(fresh, tables); diff != "" {
			t.Error("differs from a new journal:", diff)
		}
		if diff := cmp.Diff(want, rows); diff != "" {
			t.Error(diff)
		}
		must(t, j.db.Close())
	}
	j := openJournal(t, path)
	task, err := j.NextTask(ctx, "!a")
	must(t, err)
	must(t, j.Wait(ctx, task, []Message{message("q", "!a", task.Key)}))
	if tasks, err := j.Waiting(ctx); err != nil || len(tasks) != 1 || tasks[0].Event != "$2" {
		t.Errorf("%v, %v", keys(tasks), err)
	}
}

// If there is no space for the new indexes, the journal stays unchanged.
func TestOlderSchemaOnFullDisk(t *testing.T) {
	for name, left := range map[string]int64{"nothing left": 0, "too little for the indices": 40 << 10} {
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
				t.Errorf("half a migration: %v", err)
			}
			j := openJournal(t, path)
			if token, err := j.NextBatch(ctx); token != "s42" || err != nil || j.Corrupt() != "" {
				t.Errorf("token %q, %v, moved to %q", token, err, j.Corrupt())
			}
		})
	}
}
