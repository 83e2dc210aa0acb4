package release

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/state/sentence"
)

// openDB opens a database as the bot does.
func openDB(t *testing.T, path string) *sql.DB {
	t.Helper()
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: url.Values{"_pragma": {"journal_mode(WAL)"}}.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	check(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

func rows(t *testing.T, db *sql.DB) (n, version int) {
	t.Helper()
	check(t, db.QueryRow("SELECT count(*) FROM t").Scan(&n))
	check(t, db.QueryRow("PRAGMA user_version").Scan(&version))
	return n, version
}

// A folder becomes equal to the state: what was written to it meanwhile is gone.
func TestCopyAgain(t *testing.T) {
	state, to := t.TempDir(), t.TempDir()
	write(t, state, map[string]string{"state.json": "{}", "transcripts/a.jsonl": "one\n", "transcripts/b.jsonl": "one\n"})
	check(t, copyState(t.Context(), state, to))
	write(t, to, map[string]string{"state.json": "newer", "journal.db-wal": "newer", "more/x": "trial"})
	write(t, state, map[string]string{"transcripts/b.jsonl": "one\nmore\n"})
	check(t, copyState(t.Context(), state, to))
	want := map[string]string{"state.json": "{}", "transcripts/a.jsonl": "one\n", "transcripts/b.jsonl": "one\nmore\n"}
	if diff := cmp.Diff(want, read(t, to)); diff != "" {
		t.Error(diff)
	}
}

// A database is restored as it was, whatever the newer release left next to it.
func TestRestoreOfADatabase(t *testing.T) {
	state, before := t.TempDir(), filepath.Join(t.TempDir(), "before")
	path := filepath.Join(state, "journal.db")
	db := openDB(t, path)
	_, err := db.Exec("CREATE TABLE t (x)")
	check(t, err)
	check(t, db.Close())
	check(t, copyState(t.Context(), state, before))
	db = openDB(t, path)
	_, err = db.Exec("INSERT INTO t VALUES (1)")
	check(t, err)
	wal, err := os.ReadFile(path + "-wal") // as after a crash
	check(t, err)
	check(t, db.Close())
	check(t, os.WriteFile(path+"-wal", wal, 0o600))
	check(t, copyState(t.Context(), before, state))
	if n, _ := rows(t, openDB(t, path)); n != 0 {
		t.Errorf("%d rows of the newer release are left", n)
	}
}

// A file that is being executed, as containers do with some, can be replaced. A missing source empties nothing.
func TestCopyOverARunningProgram(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	sleep, err := exec.LookPath("sleep")
	check(t, err)
	data, err := os.ReadFile(sleep)
	check(t, err)
	for _, dir := range []string{from, to} {
		check(t, os.WriteFile(filepath.Join(dir, "program"), data, 0o555))
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(to, "program"), "60")
	check(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	check(t, copyState(t.Context(), from, to))
	if err := copyState(t.Context(), filepath.Join(from, "gone"), to); err == nil {
		t.Error("a missing state was copied")
	}
	if _, err := os.Stat(filepath.Join(to, "program")); err != nil {
		t.Error(err)
	}
}

// A program that finds the disk full, such as git, is told as such.
func TestFullDiskOfAProgram(t *testing.T) {
	_, err := program{limit: time.Minute}.run(t.Context(), "sh", "-c", "echo fatal: write error: No space left on device >&2; exit 128")
	if said := sentence.Text(full(fmt.Errorf("read commit: %w", err), "/base")); !strings.Contains(said, "The disk under /base is full") {
		t.Error(said)
	}
}
