package doctor

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/clitest"
	"matrix-tui/cmd/matrix-tui/memories"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/state"
	"matrix-tui/state/memory"
)

func TestCheckIndexes(t *testing.T) {
	dir := t.TempDir()
	cfg := &settings.Config{StateDir: settings.Folder(dir)}
	begins(t, checkIndexes(t.Context(), cfg), "ok   memory of rooms: nothing is remembered yet")
	for _, room := range []string{"!a:x", "!b:x"} {
		noted(t, dir, 0, "add", "-room", room, "The otter is called "+clitest.Hidden+".")
	}
	journal, store, err := state.Open(t.Context(), dir, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = store.Close(), journal.Close() })
	if err := store.SetContainer(t.Context(), "!b:x", "sandbox-b"); err != nil {
		t.Fatal(err)
	}
	today := time.Now().Format("2006-01-02")
	begins(t, checkIndexes(t.Context(), cfg), "ok   memory of rooms: 2 indexes, ")
	before := indexFiles(t, dir)

	// One that another program keeps for itself, and one that is damaged.
	a, b := memory.Path(dir, "!a:x"), memory.Path(dir, "!b:x")
	db, err := sql.Open("sqlite", a+"?_pragma=locking_mode(EXCLUSIVE)&_txlock=exclusive")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), "INSERT INTO meta (key, value) VALUES ('x', 'y')"); err != nil {
		t.Fatal(err)
	}
	begins(t, checkIndexes(t.Context(), cfg), "FAIL memory of rooms: 2 indexes, ")
	if got := checkIndexes(t.Context(), cfg).text; !contains(got, "last written "+today, "; another program keeps "+a+" locked: stop it, or try again") {
		t.Error(got)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(b, 5000); err != nil {
		t.Fatal(err)
	}
	if got := checkIndexes(t.Context(), cfg).text; !contains(got, "; !b:x is damaged: run `matrix-tui memory reindex -room '!b:x'`, which saves what can be read") {
		t.Error(got)
	}
	if after := indexFiles(t, dir); !slices.Equal(before, after) {
		t.Errorf("the check leaves %v, before %v", after, before)
	}
	noted(t, dir, 0, "reindex", "-room", "!b:x")
	begins(t, checkIndexes(t.Context(), cfg), "ok   memory of rooms: 2 indexes, ")

	stranger := memory.Path(dir, "!c:x")
	if err := os.WriteFile(stranger, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := checkIndexes(t.Context(), cfg).text; !contains(got, stranger+" is damaged, and no room is known that it belongs to: move it away") {
		t.Error(got)
	}
	cfg.MemorySlot = settings.NoMemory
	begins(t, checkIndexes(t.Context(), cfg), "ok   memory of rooms: off (SLOTS_MEMORY is none); what 3 rooms learned before is kept")
}

// The check does not take long with many rooms, and ends when its time is over.
func TestCheckManyIndexes(t *testing.T) {
	dir := t.TempDir()
	cfg := &settings.Config{StateDir: settings.Folder(dir)}
	noted(t, dir, 0, "add", "-room", "!0000:x", "The otter is called Emil.")
	one, err := os.ReadFile(memory.Path(dir, "!0000:x"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		room := fmt.Sprintf("!%04d:x", i)
		if err := os.WriteFile(memory.Path(dir, room), bytes.ReplaceAll(one, []byte("!0000:x"), []byte(room)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	begins(t, checkIndexes(t.Context(), cfg), "ok   memory of rooms: 1000 indexes, ")
	t.Logf("1,000 indexes of %d KiB: %v", len(one)>>10, time.Since(began))
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	began = time.Now()
	got := checkIndexes(short, cfg)
	if took := time.Since(began); got.bad || !contains(got.text, " of 1000 indexes read") || took > 5*time.Second {
		t.Errorf("%v after %v", got, took)
	}
}

func contains(text string, parts ...string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
}

func indexFiles(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, memory.Folder))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// noted runs `matrix-tui memory`.
func noted(t *testing.T, dir string, code int, args ...string) {
	t.Helper()
	commands := []cli.Command{{Name: "memory", About: "", Run: memories.Command}}
	got := clitest.Play(t, t.Context(), commands, []string{"STATE_DIR=" + dir}, append([]string{"memory"}, args...)...)
	if got.Code != code {
		t.Fatalf("memory %q: %+v", args, got)
	}
}
