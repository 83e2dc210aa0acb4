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

// The bot builds a damaged memory again: it stops no trial.
func TestCopyWithADamagedMemory(t *testing.T) {
	state, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	write(t, state, map[string]string{"state.json": "{}", "memory.db": "this is no database"})
	check(t, copyState(t.Context(), state, to, true))
	write(t, state, map[string]string{"journal.db": "this is no database"})
	if err := copyState(t.Context(), state, to, true); err == nil {
		t.Error("a damaged journal was copied")
	}
}

// A copy made during writes contains what was committed, and nothing that belongs only to this process.
func TestCopyOfALiveState(t *testing.T) {
	state, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	write(t, state, map[string]string{"state.json": "{}", "lock": "1", "gateway/x": "s", "tmp/y": "s", "transcripts/a.jsonl": "line\n", "releases/z": "s"})
	db := openDB(t, filepath.Join(state, "journal.db"))
	for _, statement := range []string{"PRAGMA user_version = 7", "CREATE TABLE t (x)", "INSERT INTO t VALUES (1)"} {
		_, err := db.Exec(statement)
		check(t, err)
	}
	tx, err := db.Begin()
	check(t, err)
	defer tx.Rollback()
	_, err = tx.Exec("INSERT INTO t VALUES (2)")
	check(t, err)
	check(t, copyState(t.Context(), state, to, true))
	if n, version := rows(t, openDB(t, filepath.Join(to, "journal.db"))); n != 1 || version != 7 {
		t.Errorf("the copy has %d rows, version %d", n, version)
	}
	files := read(t, to)
	delete(files, "journal.db")
	delete(files, "journal.db-wal")
	delete(files, "journal.db-shm")
	if diff := cmp.Diff(map[string]string{"state.json": "{}", "transcripts/a.jsonl": "line\n"}, files); diff != "" {
		t.Error(diff)
	}
	info, err := os.Stat(filepath.Join(to, "journal.db"))
	check(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

// The copy for the trial becomes the one that a rollback restores: what the trial wrote is gone, and transcripts are copied
// again only if they have grown.
func TestCopyOfATrial(t *testing.T) {
	state, to := t.TempDir(), t.TempDir()
	write(t, state, map[string]string{"state.json": "{}", "transcripts/a.jsonl": "one\n", "transcripts/b.jsonl": "one\n"})
	check(t, copyState(t.Context(), state, to, true))
	write(t, to, map[string]string{"state.json": "trial", "journal.db-wal": "trial", "more/x": "trial"})
	marked := filepath.Join(to, "transcripts", "a.jsonl")
	info, err := os.Stat(marked)
	check(t, err)
	check(t, os.WriteFile(marked, []byte("two\n"), 0o600)) // of the same length, to show whether it is copied again
	check(t, os.Chtimes(marked, time.Time{}, info.ModTime()))
	write(t, state, map[string]string{"transcripts/b.jsonl": "one\nmore\n"})
	check(t, copyState(t.Context(), state, to, false))
	want := map[string]string{"state.json": "{}", "transcripts/a.jsonl": "two\n", "transcripts/b.jsonl": "one\nmore\n"}
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
	check(t, copyState(t.Context(), state, before, false))
	db = openDB(t, path)
	_, err = db.Exec("INSERT INTO t VALUES (1)")
	check(t, err)
	wal, err := os.ReadFile(path + "-wal") // as after a crash
	check(t, err)
	check(t, db.Close())
	check(t, os.WriteFile(path+"-wal", wal, 0o600))
	check(t, copyState(t.Context(), before, state, false))
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
	check(t, copyState(t.Context(), from, to, false))
	if err := copyState(t.Context(), filepath.Join(from, "gone"), to, false); err == nil {
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
