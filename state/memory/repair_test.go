package memory

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// filled is an index with an import, notes, a memory file and a forgotten entry. It is closed.
func filled(t *testing.T, dir string) *Index {
	t.Helper()
	x := openIn(t, dir)
	var lines strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&lines, "{\"name\":\"ann\",\"content\":\"message %d about topic%d\",\"time\":\"2026-01-02T%02d:%02d:00Z\"}\n", i, i, i/60%24, i%60)
	}
	_, err := x.Import(t.Context(), "/tmp/talk.jsonl", strings.NewReader(lines.String()), strings.TrimSpace)
	must(t, err)
	_, err = x.Add(t.Context(), "fact", "The otter is called Emil.")
	must(t, err)
	_, err = x.Add(t.Context(), "fact", "The secret word is plugh.")
	must(t, err)
	_, err = x.ForgetText(t.Context(), "plugh")
	must(t, err)
	put(t, x, SourceMemory, "MEMORY.md", "- from a file")
	must(t, x.Close())
	return x
}

func TestDamagedIndexIsBuiltAgain(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, path string){
		"header":           func(t *testing.T, path string) { overwrite(t, path, 0, 100) },
		"schema":           func(t *testing.T, path string) { overwrite(t, path, 100, 3000) },
		"marker":           func(t *testing.T, path string) { must(t, os.WriteFile(path+".damaged", nil, 0o600)) },
		"an older release": func(t *testing.T, path string) { setVersion(t, path, 1) },
		"a newer release":  func(t *testing.T, path string) { setVersion(t, path, 99) },
		"cut in the middle": func(t *testing.T, path string) {
			info, err := os.Stat(path)
			must(t, err)
			must(t, os.Truncate(path, info.Size()*9/10/4096*4096))
			must(t, os.WriteFile(path+".damaged", nil, 0o600)) // SQLite may only notice in use
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			x := filled(t, dir)
			damage(t, x.path)
			y := openIn(t, dir)
			if y.Salvaged() == nil { // noticed in use
				if _, err := y.Search(t.Context(), Query{Text: "otter message topic7"}); err == nil {
					t.Fatal("the damage is not noticed")
				}
				must(t, y.Close())
				y = openIn(t, dir)
			}
			saved := y.Salvaged()
			if saved == nil {
				t.Fatal("nothing was salvaged")
			}
			if saved.Entries < 1500 || saved.Forgotten != 1 {
				t.Errorf("salvaged %+v", saved)
			}
			wantFirst(t, y, "topic77", "topic77")
			wantNothing(t, y, "plugh")
			put(t, y, SourceMemory, "MEMORY.md", "- from a file\n- The secret word is plugh.")
			wantNothing(t, y, "plugh")
			wantFirst(t, y, "file", "from a file")
			must(t, y.Close())
			z := openIn(t, dir)
			if z.Salvaged() != nil {
				t.Error("it is still damaged")
			}
		})
	}
}

func setVersion(t *testing.T, path string, version int) {
	t.Helper()
	db, err := connect(path)
	must(t, err)
	_, err = db.ExecContext(t.Context(), fmt.Sprintf("PRAGMA user_version = %d", version))
	must(t, err)
	must(t, db.Close())
}

func overwrite(t *testing.T, path string, at, size int64) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	_, err = file.WriteAt([]byte(strings.Repeat("\xa5", int(size))), at)
	must(t, err)
	must(t, file.Close())
}

func TestEmptyOrForeignFile(t *testing.T) {
	dir := t.TempDir()
	x := filled(t, dir)
	must(t, os.Truncate(x.path, 0))
	y := openIn(t, dir)
	put(t, y, SourceMemory, "MEMORY.md", "- a walrus")
	wantFirst(t, y, "walrus", "a walrus")
	must(t, y.Close())
	must(t, os.WriteFile(x.path, []byte("this is no database, but a text that is long enough"), 0o600))
	y = openIn(t, dir)
	if y.Salvaged() == nil {
		t.Error("a text was opened as an index")
	}
	put(t, y, SourceMemory, "MEMORY.md", "- a walrus")
	wantFirst(t, y, "walrus", "a walrus")
}

// A crash after the new file is complete, and before it is in its place, loses nothing.
func TestInterruptedRepair(t *testing.T) {
	dir := t.TempDir()
	x := filled(t, dir)
	must(t, os.Rename(x.path, x.newPath()))
	y := openIn(t, dir)
	wantFirst(t, y, "What is the otter called?", "Emil")
	must(t, y.Close())
	must(t, os.WriteFile(x.newPath()+".tmp", []byte("unfinished"), 0o600))
	must(t, os.WriteFile(x.path+".damaged", nil, 0o600))
	z := openIn(t, dir)
	wantFirst(t, z, "What is the otter called?", "Emil")
}
