package recall

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"matrix-tui/state/execution"
	"matrix-tui/state/memory"
)

// lock holds a write transaction on a room's index, as another process would, until unlock is called.
func lock(t *testing.T, m *Memory, room string) (unlock func()) {
	t.Helper()
	db, err := sql.Open("sqlite", memory.Path(m.dir, room))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		if _, err := db.ExecContext(context.Background(), "ROLLBACK"); err != nil {
			t.Error(err)
		}
		_ = db.Close()
	}
}

// While another process writes for long, a task waits for its memory for a bounded time, and what it taught is
// stored when the index is used next, in the same order.
func TestLockedIndex(t *testing.T) {
	m := newMemory(t)
	learn(t, m, task(1, 0, "remember that the cat is called Pixel", "Noted."))
	learn(t, m, task(3, 0, "remember that the dog is called Rex", "Noted."))
	unlock := lock(t, m, "!r")
	began := time.Now()
	backup := task(2, 1, "Back up the database", "Backed up production")
	backup.Answers = []Answer{{"Which database - production or staging?", "production", "alice", "$a"}}
	if err := m.Learn(t.Context(), backup); !errors.Is(err, memory.ErrLocked) {
		t.Errorf("learning from a task: %v", err)
	}
	if took := time.Since(began); took > writeTime {
		t.Errorf("the task waited for %v", took)
	}
	m.Redact(t.Context(), "!r", "$1")
	began = time.Now()
	if k := m.Find(t.Context(), "!r", "", "what are the cat and the dog called?"); !strings.Contains(fmt.Sprint(k), "Rex") || strings.Contains(fmt.Sprint(k), "Pixel") {
		t.Errorf("found while it is locked: %+v", k)
	}
	if took := time.Since(began); took > readTime {
		t.Errorf("the next task waited for %v", took)
	}
	if err := m.Sync(t.Context(), "!r", nil); err != nil {
		t.Errorf("files: %v", err)
	}
	unlock()
	k := m.Find(t.Context(), "!r", "", "Back up the database, and the cat")
	if len(k.Answers) != 1 || !strings.Contains(k.Answers[0], "A: production") || strings.Contains(fmt.Sprint(k), "Pixel") {
		t.Errorf("found %+v", k)
	}
	if got := strings.Join(lines(t, m, "!r"), "\n"); strings.Count(got, "Back up the database → Backed up production") != 1 {
		t.Errorf("lines:\n%s", got)
	}
}

// A redaction that the index does not take survives a restart of the bot.
func TestRedactLockedIndex(t *testing.T) {
	m := newMemory(t)
	learn(t, m, task(1, 0, "remember that the cat is called Pixel", "Noted."))
	learn(t, m, task(2, 0, "remember that the dog is called Rex", "Noted."))
	unlock := lock(t, m, "!r")
	m.Redact(t.Context(), "!r", "$1")
	again := New(m.dir, m.store, m.log)
	if k := again.Find(t.Context(), "!r", "", "what is the cat called?"); len(k.Preferences) == 0 {
		t.Error("while it is locked, nothing can be found")
	}
	unlock()
	for range 2 {
		k := again.Find(t.Context(), "!r", "", "what are the cat and the dog called?")
		all := fmt.Sprint(k)
		if !k.Forgotten.Event("$1") || k.Forgotten.Event("$2") || strings.Contains(all, "Pixel") || !strings.Contains(all, "Rex") {
			t.Errorf("found %+v", k)
		}
	}
	if left, err := filepath.Glob(memory.Path(m.dir, "!r") + ".*"); err != nil || len(left) > 0 {
		t.Errorf("left %q, %v", left, err)
	}
}

// The changes that wait are bounded: the newest are kept.
func TestLaterIsBounded(t *testing.T) {
	var l later
	last := 0
	for n := range 3 * maxLater {
		l.add(func(context.Context, *memory.Index) error { last = n; return nil })
	}
	l.keep(func(context.Context, *memory.Index) error { last = -1; return nil })
	waiting, first := l.take()
	if len(waiting) != maxLater || !first || l.behind() {
		t.Errorf("%d wait", len(waiting))
	}
	_ = waiting[maxLater-1](t.Context(), nil)
	if last != 3*maxLater-1 {
		t.Errorf("the newest is %d", last)
	}
}

// putExecution stores a finished task in state.json.
func putExecution(t *testing.T, m *Memory, done Task) {
	t.Helper()
	e := execution.Execution{ID: done.ID, Room: done.Room, TaskEvent: done.Event, Asker: "@alice:x", State: execution.Done, CreatedAt: done.Began, UpdatedAt: done.Ended, Transcript: []string{done.Said[0].Text}}
	for _, a := range done.Answers {
		e.Answers = append(e.Answers, execution.Answer{Question: a.Question, Answer: a.Answer, By: "@alice:x", Event: a.Event})
	}
	e.Results = append(e.Results, execution.Result{Output: done.Result})
	raw, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.store.PutExecution(t.Context(), done.Room, raw); err != nil {
		t.Fatal(err)
	}
}

// A bot that was started again learns what the one before could not store, and nothing twice.
func TestMissedTasks(t *testing.T) {
	m := newMemory(t)
	known := task(1, 0, "count the doors", "Nine doors")
	known.Calls = []Call{{Tool: "run_shell_command", Detail: "ls doors", Output: "9"}}
	learn(t, m, known)
	before := lines(t, m, "!r")
	missed := task(2, 1, "Back up the database. Always use gzip.", "Backed up production")
	missed.Answers = []Answer{{"Which database - production or staging?", "production", "alice", "$a"}}
	putExecution(t, m, known)
	putExecution(t, m, missed)

	again := New(m.dir, m.store, m.log)
	k := again.Find(t.Context(), "!r", "", "Back up the database")
	if len(k.Answers) != 1 || !strings.Contains(strings.Join(k.Preferences, "\n"), "gzip") {
		t.Errorf("found %+v", k)
	}
	learn(t, again, missed) // which was about to end
	after := strings.Join(lines(t, again, "!r"), "\n")
	for _, want := range append(before, "Back up the database. Always use gzip. → Backed up", "A: production", "preference: Always use gzip") {
		if strings.Count(after, want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, after)
		}
	}
	if k := again.Find(t.Context(), "!r", "", "count the doors"); !strings.Contains(strings.Join(k.Commands, "\n"), "ls doors") {
		t.Errorf("the calls of a task are gone: %q", k.Commands)
	}
}

// The lines of a redacted message stay forgotten, although no file with them has been read yet.
func TestForgottenLines(t *testing.T) {
	m := newMemory(t)
	learn(t, m, task(1, 0, "remember that my cat is called Pixel", "Noted."))
	before := lines(t, m, "!r")
	if len(before) < 2 {
		t.Fatalf("lines: %q", before)
	}
	m.Redact(t.Context(), "!r", "$1")
	k := m.Find(t.Context(), "!r", "", "what is my cat called?")
	for _, line := range before {
		_, text, _ := strings.Cut(line, ": ")
		if !k.Forgotten.Text(line) && !k.Forgotten.Text(text) {
			t.Errorf("%q is not forgotten", line)
		}
	}
}

// What was forgotten stays so if the index cannot be read in time.
func TestForgottenWithoutTime(t *testing.T) {
	m := newMemory(t)
	learn(t, m, task(1, 0, "remember that my cat is called Pixel", "Noted."))
	m.Redact(t.Context(), "!r", "$1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	k := m.Find(ctx, "!r", "", "what is my cat called?")
	if !k.Forgotten.Event("$1") || !k.Forgotten.Text("remember that my cat is called Pixel") || len(k.Preferences) > 0 {
		t.Errorf("found %+v", k)
	}
}

// When the index is gone, the history that a new session gets must not contain what was redacted.
func TestForgottenWithoutIndex(t *testing.T) {
	m := newMemory(t)
	cat := task(1, 0, "remember that my cat is called Pixel", "Noted.")
	putExecution(t, m, cat)
	learn(t, m, cat)
	m.Redact(t.Context(), "!r", "$1")
	if err := os.Remove(memory.Path(m.dir, "!r")); err != nil {
		t.Fatal(err)
	}
	k := m.Find(t.Context(), "!r", "", "what is my cat called?")
	if !k.Forgotten.Event("$1") || !k.Forgotten.Text("remember that my cat is called Pixel") || strings.Contains(fmt.Sprint(k.Commands, k.Preferences, k.Retrieved), "Pixel") {
		t.Errorf("found %+v", k)
	}
}

// An index that disappears, or becomes empty, while the bot runs is filled again.
func TestLostIndex(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"deleted":         os.Remove,
		"empty":           func(path string) error { return os.Truncate(path, 0) },
		"cut":             func(path string) error { return os.Truncate(path, 5000) },
		"another file":    func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("text ", 5000)), 0o600) },
		"without content": func(path string) error { return os.WriteFile(path, make([]byte, 20000), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory(t)
			backup := task(1, 0, "Back up the database", "Backed up production")
			backup.Answers = []Answer{{"Which database - production or staging?", "production", "alice", "$a"}}
			putExecution(t, m, backup)
			learn(t, m, backup)
			if err := harm(memory.Path(m.dir, "!r")); err != nil {
				t.Fatal(err)
			}
			if name == "deleted" {
				learn(t, m, task(2, 1, "count the doors", "Nine doors"))
			}
			for range 2 { // damage may be noticed in use
				if k := m.Find(t.Context(), "!r", "", "Back up the database"); len(k.Answers) == 1 {
					return
				}
			}
			t.Error("what state.json has is not known again")
		})
	}
}
