package recall

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/state"
)

func newMemory(t testing.TB) *Memory {
	t.Helper()
	dir := t.TempDir()
	journal, store, err := state.Open(t.Context(), dir, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = store.Close(), journal.Close() })
	return New(dir, store, journal, zerolog.Nop(), "bots-own-key")
}

func learn(t testing.TB, m *Memory, tasks ...Task) {
	t.Helper()
	for _, one := range tasks {
		if err := m.Learn(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
}

// task is a finished task of Alice's on a day.
func task(n, day int, said, result string) Task {
	began := noon.AddDate(0, 0, day)
	event := fmt.Sprintf("$%d", n)
	return Task{Room: "!r", ID: fmt.Sprint("x", n), Event: event, By: "alice", Session: fmt.Sprint("s", n), Began: began, Ended: began.Add(time.Second),
		Said: []Said{{event, "alice", said}}, Success: true, Result: result}
}

func TestFind(t *testing.T) {
	m := newMemory(t)
	backup := task(1, 0, "Back up the database", "Backed up production")
	backup.Answers = []Answer{{"Which database - production or staging?", "production", "alice", "$a"}}
	backup.Calls = []Call{{Tool: "run_shell_command", Detail: "pg_dump production", Output: "ok"}}
	learn(t, m, backup, task(2, 1, "write a poem. Always answer in German.", "Gedicht"))
	add(t, m, state.Procedural, "answer in German")

	k := m.Find(t.Context(), "!r", "alice", "", "Back up the database")
	for _, want := range []struct{ name, got, want string }{
		{"answers", strings.Join(k.Answers, "\n"), "Q: Which database - production or staging? | A: production | Context: Back up the database"},
		{"commands", strings.Join(k.Commands, "\n"), "Command: Back up the database | Outcome: Backed up production | Success: true | Duration: 1.0s"},
		{"preferences", strings.Join(k.Preferences, "\n"), "answer in German"},
		{"retrieved", strings.Join(k.Retrieved, "\n"), "an earlier conversation (2026-11-23): alice: Back up"},
	} {
		if !strings.Contains(want.got, want.want) {
			t.Errorf("%s: %q lacks %q", want.name, want.got, want.want)
		}
	}
	if k := m.Find(t.Context(), "!other", "alice", "", "Back up the database"); len(k.ids) > 0 {
		t.Errorf("another room: %v", k)
	}

	// A session gets nothing twice, and nothing that happened in it.
	m.Gave(t.Context(), "!r", "s9", k)
	if again := m.Find(t.Context(), "!r", "alice", "s9", "Back up the database"); len(again.ids) > 0 {
		t.Errorf("given twice: %v", again)
	}
	if own := m.Find(t.Context(), "!r", "alice", "s1", "Back up the database"); len(own.Answers)+len(own.Commands) > 0 {
		t.Errorf("the session was there: %v", own)
	}

	// The newest answer to a question counts, and a correction replaces it.
	again := task(3, 2, "Back up the database", "Backed up staging")
	again.Answers = []Answer{{"Which database - production or staging?", "staging", "alice", "$b"}}
	learn(t, m, again)
	if k := m.Find(t.Context(), "!r", "alice", "", "Back up the database"); len(k.Answers) != 1 || !strings.Contains(k.Answers[0], "A: staging") {
		t.Errorf("answered again: %q", k.Answers)
	}
}

// add adds a note as a person does.
func add(t testing.TB, m *Memory, kind state.NoteKind, text string) {
	t.Helper()
	if added, err := m.Add(t.Context(), state.Note{Room: "!r", Kind: kind, Text: text}); err != nil || !added {
		t.Fatalf("%q: %v, %v", text, added, err)
	}
}

func TestFindAfterManyTasks(t *testing.T) {
	m := newMemory(t)
	learn(t, m, task(3, 0, "remember that the deploy key of the harbour is in drawer seven", "Noted."))
	for n := range 60 {
		learn(t, m, task(100+n, n, fmt.Sprintf("write report number %d about topic %c", n, 'a'+n%26), "Done."))
	}
	k := m.Find(t.Context(), "!r", "alice", "", "where is the harbour's deploy key?")
	if !strings.Contains(strings.Join(k.Retrieved, "\n"), "drawer seven") {
		t.Errorf("not found: %+v", k)
	}
}

// What another room remembers is given only if this room may read it, and never what was said there.
func TestFindInOtherRooms(t *testing.T) {
	m := newMemory(t)
	backup := task(1, 0, "Back up the database", "Backed up production")
	backup.Answers = []Answer{{"Which database - production or staging?", "production", "alice", "$a"}}
	learn(t, m, backup, task(2, 1, "The walrus is called Emil.", "Noted."), task(3, 1, "remember that the database password rotation is on Monday", "Noted."))
	elsewhere := task(9, 0, "count the doors", "Nine")
	elsewhere.Room = "!den"
	learn(t, m, elsewhere)

	if k := m.Find(t.Context(), "!den", "alice", "", "Back up the database"); len(k.ids) > 0 {
		t.Errorf("not allowed, but found %+v", k)
	}
	k := m.Find(t.Context(), "!den", "alice", "", "Back up the database, or the walrus", "!r", "!missing", "!den")
	all := strings.Join(k.Retrieved, "\n")
	if len(k.Retrieved) == 0 || len(k.Retrieved) > mostOthers || strings.Count(all, "the room !r, ") != len(k.Retrieved) ||
		!strings.Contains(all, "A: production") || strings.Contains(all, "conversation") {
		t.Errorf("found %q", k.Retrieved)
	}
	m.Gave(t.Context(), "!den", "s9", k)
	if again := m.Find(t.Context(), "!den", "alice", "s9", "Back up the database, or the walrus", "!r"); len(again.Retrieved) > 0 {
		t.Errorf("given twice: %q", again.Retrieved)
	}
	if k := m.Find(t.Context(), "!r", "alice", "", "count the doors"); strings.Contains(fmt.Sprint(k), "Nine") {
		t.Errorf("the other way round: %+v", k)
	}
	if k := m.Find(t.Context(), "!new", "alice", "", "Back up the database", "!r"); len(k.Retrieved) == 0 {
		t.Error("a room that remembers nothing itself is given nothing")
	}
	for room, want := range map[string]bool{"!den": true, "!new": true, "!r": false} {
		others := []string{"!r"}
		if got, err := m.Command(t.Context(), room, "$x", "alice", "", others...); err != nil || strings.Contains(got, "what these rooms remember: `!r`") != want {
			t.Errorf("%s is told %q, %v", room, got, err)
		}
	}
}
