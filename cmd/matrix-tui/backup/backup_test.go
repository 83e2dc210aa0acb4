package backup

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/clitest"
	"matrix-tui/state"
)

// members returns the names in a backup.
func members(t *testing.T, file string) (names []string) {
	t.Helper()
	if err := eachMember(file, func(name string, _ io.Reader) error { names = append(names, name); return nil }); err != nil {
		t.Fatal(err)
	}
	return names
}

func TestBackupAndRestore(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	store, _ := clitest.KeepRooms(t, dir) // open throughout, as by a running bot
	clitest.KeepMore(t, dir)
	file := filepath.Join(t.TempDir(), "one.tar.gz")
	if got := clitest.Play(t, t.Context(), backupCommands, []string{"STATE_DIR=" + dir}, "backup", file); got.Code != 0 || !strings.Contains(got.Stdout, ", 9 files\n") || clitest.Leaks(got.Stdout) {
		t.Fatalf("%+v", got)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v: %v", info.Mode(), err)
	}
	if beside, _ := os.ReadDir(filepath.Dir(file)); len(beside) != 1 {
		t.Errorf("it leaves %v next to itself", beside)
	}
	want := []string{
		"manifest.json", "state/journal.db", "state/.env", "state/account.json", "state/crypto.key", "state/pirate.md", "state/policy.yaml",
		"state/recovery-key", "state/state.json", "state/transcripts/sandbox-a.jsonl",
	}
	if diff := cmp.Diff(want, members(t, file)); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}

	got := clitest.Play(t, t.Context(), backupCommands, []string{"STATE_DIR=" + to, "MATRIX_USER=@other:x"}, "restore", file)
	if got.Code != 0 || !strings.Contains(got.Stdout, "Restored the state of @bot:x to "+to) || !strings.Contains(got.Stdout, "no longer runs on any host") || !strings.Contains(got.Stdout, "a different account") {
		t.Fatalf("%+v", got)
	}
	there, err := state.ReadStore(to)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(store.Containers.All(), there.Containers.All()); diff != "" {
		t.Errorf("containers (-want +got):\n%s", diff)
	}
	journal, err := state.ReadJournal(t.Context(), filepath.Join(to, "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	if row, err := journal.Tasks.Last(t.Context(), "!a:x"); err != nil || row.Event != "$3" {
		t.Errorf("last task %s: %v", row.Event, err)
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	for _, e := range must(os.ReadDir(to)) {
		if info := must(e.Info()); info.Mode().Perm()&0o077 != 0 || strings.HasPrefix(e.Name(), ".restore-") {
			t.Errorf("%s %v is there", info.Mode(), e.Name())
		}
	}

	// Again: only with -force, and the existing state is kept.
	clitest.Write(t, filepath.Join(to, ".env"), "GEMINI_MODEL=of-this-host\n")
	if got := clitest.Play(t, t.Context(), backupCommands, []string{"STATE_DIR=" + to}, "restore", file); got.Code != 1 || !strings.Contains(got.Stderr, "already contains a bot's state (account.json, ") {
		t.Errorf("%+v", got)
	}
	clitest.Write(t, filepath.Join(to, "policy.yaml"), "# mine\n")
	if got := clitest.Play(t, t.Context(), backupCommands, []string{"STATE_DIR=" + to}, "restore", "-force", file); got.Code != 0 {
		t.Errorf("%+v", got)
	}
	aside := must(filepath.Glob(filepath.Join(to, "before-restore-*", "policy.yaml")))
	if len(aside) != 1 || string(must(os.ReadFile(aside[0]))) != "# mine\n" {
		t.Errorf("the existing state is not in %v", aside)
	}
	if text := must(os.ReadFile(filepath.Join(to, ".env"))); !strings.Contains(string(text), "of-this-host") {
		t.Errorf("the host's settings were overwritten by %s", text)
	}

	// Not while a bot is running.
	lock, err := state.Lock(to)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if got := clitest.Play(t, t.Context(), backupCommands, []string{"STATE_DIR=" + to}, "restore", "-force", file); got.Code != 1 || !strings.Contains(got.Stderr, "A bot already runs on "+to) {
		t.Errorf("%+v", got)
	}
}

// A backup goes through a pipe, from one host to the other.
func TestBackupInAPipe(t *testing.T) {
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "state")
	clitest.KeepRooms(t, dir)
	var said bytes.Buffer
	pipe := must(os.Create(filepath.Join(t.TempDir(), "pipe")))
	defer pipe.Close()
	a := &cli.App{Environ: []string{"STATE_DIR=" + dir}, Dir: t.TempDir(), Stdout: pipe, Stderr: &said}
	if code := cli.Dispatch(t.Context(), a, backupCommands, []string{"backup", "-"}); code != 0 || !strings.Contains(said.String(), "2 files") {
		t.Fatalf("code %d: %s", code, said.String())
	}
	if _, err := pipe.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	a = &cli.App{Environ: []string{"STATE_DIR=" + to}, Dir: t.TempDir(), Stdin: pipe, Stdout: io.Discard, Stderr: &said}
	if code := cli.Dispatch(t.Context(), a, backupCommands, []string{"restore", "-"}); code != 0 {
		t.Fatalf("code %d: %s", code, said.String())
	}
	for folder, want := range map[string][]string{dir: {"journal.db", "journal.db-shm", "journal.db-wal", "state.json"}, to: {"journal.db", "lock", "state.json"}} {
		var names []string
		for _, e := range must(os.ReadDir(folder)) {
			names = append(names, e.Name())
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("%s holds (-want +got):\n%s", folder, diff)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestBackupOfNothing(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.tar.gz")
	if got := clitest.Play(t, t.Context(), backupCommands, []string{"STATE_DIR=" + dir}, "backup", file); got.Code != 1 || !strings.Contains(got.Stderr, "no bot state in "+dir) {
		t.Errorf("%+v", got)
	}
	clitest.Write(t, file, "not mine to overwrite")
	if got := clitest.Play(t, t.Context(), backupCommands, []string{"STATE_DIR=" + dir}, "backup", file); got.Code != 2 || !strings.Contains(got.Stderr, "already exists") {
		t.Errorf("%+v", got)
	}
}

var backupCommands = []cli.Command{{Name: "backup", About: "", Run: Command}, {Name: "restore", About: "", Run: Restore}}
