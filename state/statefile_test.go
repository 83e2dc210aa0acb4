package state

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rs/zerolog"
)

// What parses can be written, and then has the same content.
func FuzzParse(f *testing.F) {
	f.Add([]byte(oldFile))
	f.Add([]byte(oldFile[:60]))
	f.Add([]byte(`{"containers":null,"history":{"!r":null},"sessions":{"!r":"s"},"executions":{"a": [1 , 2]},"executions":0}`))
	f.Add([]byte(`{"history":{"!r":[{"role":"user","content":"\ud800"},null]},"":{}}`))
	f.Add([]byte(`{"executions":{"!r":[{"session_id":"1","state":"failed"},{"session_id":"1","state":"x"},[0]],"!q":[{"session_id":"1","state":"x"}],"":[]}}`))
	f.Add([]byte(`{"executions":[{"session_id":"1","state":"failed"}, 1e999]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := parse(data)
		if err != nil {
			return
		}
		sameWhenWritten(t, first)
		for _, r := range first.rooms {
			r.history.decode()
			r.history.unique()
			r.history.with([]Turn{{"user", string(data), "$1"}})
		}
	})
}

func sameWhenWritten(t *testing.T, first stateFile) {
	t.Helper()
	for id, r := range first.rooms {
		shown := room{container: r.container, volumes: r.volumes, history: r.history.newest(fileHistory)}
		if first.rooms[id] = shown; shown.empty() {
			delete(first.rooms, id)
		}
	}
	var file bytes.Buffer
	if err := first.writeTo(t.Context(), &file); err != nil {
		t.Fatal(err)
	}
	second, err := parse(file.Bytes())
	if err != nil {
		t.Fatalf("%v in what was written:\n%s", err, file.Bytes())
	}
	if diff := cmp.Diff(first, second, cmp.AllowUnexported(stateFile{}, room{}), cmpopts.EquateEmpty()); diff != "" {
		t.Fatal(diff)
	}
}

// A file that cannot be read is not damaged: it stays where it is.
func TestUnreadableStateStays(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state.json") // a folder can be opened but not read
	must(t, os.Mkdir(path, 0o700))
	if _, s, err := Open(ctx, dir, zerolog.Nop()); err == nil {
		t.Fatalf("a store was opened; corrupt: %q", s.Corrupt())
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}
