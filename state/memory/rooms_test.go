package memory

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/agent/agenttest"
	"matrix-tui/state/damage"
	"matrix-tui/state/sqlitefile"
)

func openRoom(t testing.TB, dir, room string) *Index {
	t.Helper()
	x, err := Open(t.Context(), dir, room)
	must(t, err)
	t.Cleanup(func() { _ = x.Close() })
	return x
}

// Whatever is asked of the memory of a room, it says and removes nothing of another room.
func TestRoomsAreApart(t *testing.T) {
	dir := t.TempDir()
	x, y := openIn(t, dir), openRoom(t, dir, "!other:x")
	model := &agenttest.Embeddings{}
	fill := func(x *Index, secret string) {
		t.Helper()
		put(t, x, SourceNote, "MEMORY.md", "- the pelican's code is "+secret+"\n")
		must(t, x.Put(t.Context(), saidBy("$"+secret, "we spoke of the pelican on 3 March 2026: "+secret)...))
		note(t, x, "fact", "a pelican eats fish, says "+secret)
		embedAll(t, x, model)
	}
	fill(x, "alpha")
	fill(y, "omega")
	for _, q := range []Query{
		{Text: "pelican"}, {Text: "omega"}, {Text: "omegas"}, {Text: "omeag"}, {Text: "pelican code omega fish eats"}, {Text: "3 March 2026"}, {Text: "in March"},
		{Text: "2xomega"}, {Text: "2xpelican"}, {Text: "xomega"}, {Text: "pelican", Kind: "fact"}, {Text: "pelican", Sources: []Source{SourceTranscript}},
		{Text: "nothing", Vector: vectorOf(model, "omega pelican")}, {Text: "omega", Vector: vectorOf(model, "the pelican's code is omega")},
	} {
		hits, err := x.Search(t.Context(), q)
		must(t, err)
		for _, hit := range hits {
			if strings.Contains(hit.Text, "omega") || !strings.Contains(hit.Text, "alpha") {
				t.Errorf("%+v finds %q", q, hit.Text)
			}
		}
	}
	hits, err := y.Search(t.Context(), Query{Text: "omega"})
	if must(t, err); len(hits) == 0 {
		t.Fatal("its own room does not find it")
	}
	entries, err := x.Read(t.Context(), "MEMORY.md", 1, 9)
	must(t, err)
	unembedded, err := x.Unembedded(t.Context(), "another", 100)
	must(t, err)
	if all := fmt.Sprint(entries, unembedded); strings.Contains(all, "omega") || !strings.Contains(all, "alpha") {
		t.Errorf("it says %s", all)
	}
	if entries, err := x.Entries(t.Context(), hits[0].ID); err != nil || len(entries) > 0 {
		t.Errorf("it has the other's entries: %+v, %v", entries, err)
	}
	if has, err := x.Has(t.Context(), "conversation/$omega"); err != nil || has {
		t.Errorf("it has the other's document: %v", err)
	}
	before, err := y.Status(t.Context())
	must(t, err)
	must(t, x.Rebuild(t.Context(), document(SourceNote, "MEMORY.md", "- alpha")))
	must(t, x.Doubt(t.Context()))
	after, err := y.Status(t.Context())
	must(t, err)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
	if v, c, _ := vectors(t, y); v == 0 || v != c {
		t.Errorf("the other room has %d vectors for %d chunks", v, c)
	}
}

func TestRoomsAndFile(t *testing.T) {
	dir := t.TempDir()
	if rooms, err := Rooms(t.Context(), dir); err != nil || len(rooms) > 0 || Exists(dir, den) {
		t.Errorf("no file: %v, %v", rooms, err)
	}
	x, other := openIn(t, dir), openRoom(t, dir, "!other:x")
	put(t, x, SourceNote, "MEMORY.md", "- only here")
	put(t, other, SourceNote, "MEMORY.md", "- only there")
	_ = openRoom(t, dir, "!empty:x")
	rooms, err := Rooms(t.Context(), dir)
	must(t, err)
	if diff := cmp.Diff([]string{den, "!other:x"}, rooms); diff != "" {
		t.Error(diff)
	}
	info, err := os.Stat(Path(dir))
	if must(t, err); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	must(t, Remove(dir, "!other:x"))
	must(t, Remove(dir, "!unknown:x"))
	if Exists(dir, "!other:x") || !Exists(dir, den) {
		t.Error("the wrong room was removed")
	}
	for _, x := range []*Index{x, other} {
		must(t, x.Close())
	}
	dir = t.TempDir()
	must(t, exec.CommandContext(t.Context(), "mkfifo", Path(dir)).Run())
	if _, err := Open(t.Context(), dir, den); err == nil {
		t.Error("a pipe was opened as an index")
	}
}

// A file that is damaged or of another release is made again, and every room must be filled again.
func TestDamagedFileIsMadeAgain(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, path string){
		"nothing": func(*testing.T, string) {},
		"header":  func(t *testing.T, path string) { overwrite(t, path, 0, 100) },
		"schema":  func(t *testing.T, path string) { overwrite(t, path, 100, 3000) },
		"content": func(t *testing.T, path string) { overwrite(t, path, 4096, 1<<20) },
		"a text": func(t *testing.T, path string) {
			must(t, os.WriteFile(path, []byte("this is no database, but a text"), 0o600))
		},
		"empty":             func(t *testing.T, path string) { must(t, os.Truncate(path, 0)) },
		"gone":              func(t *testing.T, path string) { must(t, os.Remove(path)) },
		"cut in the middle": func(t *testing.T, path string) { must(t, os.Truncate(path, 40_960)) },
		"marked":            func(t *testing.T, path string) { must(t, damage.Mark(path, errors.New("test"))) },
		"another release": func(t *testing.T, path string) {
			db, err := sqlitefile.Open(path, nil)
			must(t, err)
			_, err = db.Exec("PRAGMA user_version = 99")
			must(t, errors.Join(err, db.Close()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, room := range []string{den, "!other:x"} {
				x := openRoom(t, dir, room)
				if !x.Unfilled() {
					t.Error("a new room need not be filled")
				}
				imported(t, x, "talk", strings.Repeat(`{"content":"`+writerOf(1)(40)+"\"}\n", 2000))
				note(t, x, "fact", "The otter is called Emil.")
				must(t, x.write(t.Context(), "fill", func(w *writer) error { _, err := w.exec("UPDATE room SET filled = 1 WHERE id = ?", w.room); return err }))
				must(t, x.Close())
			}
			harm(t, Path(dir))
			_, err := Examine(t.Context(), dir)
			if sound := name == "nothing" || name == "gone" || name == "another release"; (err == nil) != sound || err != nil && name != "empty" && !damage.Is(err) {
				t.Errorf("examined: %v", err)
			}
			x := openIn(t, dir)
			if !x.Unfilled() && name != "nothing" { // it is noticed in use
				_, err := x.Search(t.Context(), Query{Text: "otter talk topic " + writerOf(1)(40)})
				other := x.Put(t.Context(), document(SourceNote, "MEMORY.md", writerOf(2)(4000)))
				if !damage.Is(errors.Join(err, other)) {
					t.Fatalf("the damage is not noticed: %v, %v", err, other)
				}
				must(t, x.Close())
				x = openIn(t, dir)
			}
			if x.Unfilled() != (name != "nothing") {
				t.Errorf("unfilled: %v", x.Unfilled())
			}
			put(t, x, SourceNote, "MEMORY.md", "- a walrus")
			wantFirst(t, x, "walrus", "a walrus")
			must(t, x.Close())
			if y := openRoom(t, dir, "!other:x"); y.Unfilled() != (name != "nothing") {
				t.Errorf("the other room is unfilled: %v", y.Unfilled())
			}
			if _, err := Examine(t.Context(), dir); err != nil {
				t.Errorf("examined afterwards: %v", err)
			}
		})
	}
}

func overwrite(t *testing.T, path string, at, size int64) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	_, err = file.WriteAt([]byte(strings.Repeat("\xa5", int(size))), at)
	must(t, errors.Join(err, file.Close()))
}

// A damaged file is not deleted while somebody has it open.
func TestDamageWaitsForOthers(t *testing.T) {
	dir := t.TempDir()
	x := openIn(t, dir)
	put(t, x, SourceNote, "MEMORY.md", "- a walrus")
	must(t, damage.Mark(Path(dir), errors.New("test")))
	late, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := Open(late, dir, "!other:x"); !errors.Is(err, ErrLocked) {
		t.Errorf("got %v", err)
	}
	closed := make(chan error, 1)
	time.AfterFunc(200*time.Millisecond, func() { closed <- x.Close() })
	if y := openRoom(t, dir, "!other:x"); !y.Unfilled() || Exists(dir, den) {
		t.Error("it was not made again")
	}
	must(t, <-closed)
}

func TestExamine(t *testing.T) {
	dir := t.TempDir()
	if h, err := Examine(t.Context(), dir); err != nil || h != (Health{}) {
		t.Errorf("no file: %+v, %v", h, err)
	}
	x := openIn(t, dir)
	put(t, x, SourceNote, "MEMORY.md", "- a walrus")
	h, err := Examine(t.Context(), dir) // in use
	if must(t, err); h.Rooms != 1 || h.Bytes == 0 || time.Since(h.Changed) > time.Minute {
		t.Errorf("%+v", h)
	}
	late, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	if _, err := Examine(late, dir); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("out of time: %v", err)
	}
}
