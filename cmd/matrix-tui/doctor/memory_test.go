package doctor

import (
	"database/sql"
	"os"
	"strings"
	"testing"
	"time"

	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/clitest"
	"matrix-tui/cmd/matrix-tui/memories"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/state/memory"
)

func TestCheckIndex(t *testing.T) {
	dir := t.TempDir()
	cfg := &settings.Config{StateDir: settings.Folder(dir)}
	begins(t, checkIndex(t.Context(), cfg), "ok   memory of rooms: nothing is remembered yet")
	for _, room := range []string{"!a:x", "!b:x"} {
		noted(t, dir, 0, "add", "-room", room, "The otter is called Emil.")
	}
	begins(t, checkIndex(t.Context(), cfg), "ok   memory of rooms: 2 rooms, ")
	if got := checkIndex(t.Context(), cfg).Text; !strings.Contains(got, "last written "+time.Now().Format("2006-01-02")) {
		t.Error(got)
	}
	cfg.MemorySlot = settings.NoMemory
	begins(t, checkIndex(t.Context(), cfg), "ok   memory of rooms: off (SLOTS_MEMORY is none); what was learned before is kept: 2 rooms")
	cfg.MemorySlot = ""

	db, err := sql.Open("sqlite", memory.Path(dir)+"?_pragma=locking_mode(EXCLUSIVE)&_txlock=exclusive")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), "UPDATE room SET filled = filled"); err != nil {
		t.Fatal(err)
	}
	begins(t, checkIndex(t.Context(), cfg), "FAIL memory of rooms: Another program keeps "+memory.Path(dir)+" locked")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(memory.Path(dir), 5000); err != nil {
		t.Fatal(err)
	}
	begins(t, checkIndex(t.Context(), cfg), "ok   memory of rooms: the index is damaged; it is made again")
	noted(t, dir, 0, "search", "-room", "!a:x", "otter")
	begins(t, checkIndex(t.Context(), cfg), "ok   memory of rooms: 1 room, ")
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
