package recall

import (
	"os"
	"path/filepath"
	"testing"

	"matrix-tui/state"
	"matrix-tui/state/memory"
	"matrix-tui/state/sqlitefile"
)

// What only the index of an earlier release had is in the record afterwards, and can be found.
func TestTakeOld(t *testing.T) {
	m, ctx := newMemory(t), t.Context()
	folder := filepath.Join(m.dir, memory.Folder)
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := sqlitefile.Open(filepath.Join(folder, "aa.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(`CREATE TABLE meta (key TEXT, value TEXT); INSERT INTO meta VALUES ('room', '!r');
		CREATE TABLE document (id INTEGER PRIMARY KEY, source TEXT, path TEXT, origin TEXT);
		INSERT INTO document VALUES (1, 'note', 'preference/1/0', 'preference'), (2, 'import', 'talk.jsonl', '/a/talk.jsonl');
		CREATE TABLE entry (document INTEGER, first INTEGER, last INTEGER, time INTEGER, speaker TEXT, text TEXT, event TEXT,
			id INTEGER PRIMARY KEY);
		INSERT INTO entry VALUES (1, 1, 1, 7, '', 'deploy to staging first', '$1', 1), (2, 4, 4, 0, 'ann', 'the crane is yellow', '', 2);
		CREATE TABLE forgotten (hash BLOB, time INTEGER); INSERT INTO forgotten VALUES (x'0aff', 1)`)
	if err != nil || db.Close() != nil {
		t.Fatal(err)
	}
	for range 2 {
		m.TakeOld(ctx)
	}
	notes, err := m.journal.Memory.Notes(ctx, "!r")
	if err != nil || len(notes) != 1 || notes[0].Kind != state.Procedural || notes[0].Event != "$1" || notes[0].Time.UnixNano() != 7 {
		t.Errorf("notes %+v, %v", notes, err)
	}
	if all, err := m.journal.Memory.Forgotten(ctx, "!r"); err != nil || !all["0aff"] {
		t.Errorf("forgotten %v, %v", all, err)
	}
	for _, words := range []string{"staging", "crane"} {
		if hits, err := m.Search(ctx, "!r", memory.Query{Text: words, Max: 5}); err != nil || len(hits) != 1 {
			t.Errorf("%s: %+v, %v", words, hits, err)
		}
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("the old index is still there")
	}
}
