package recall

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/state"
	"matrix-tui/state/memory"
	"matrix-tui/workspace"
)

func newMemory(t testing.TB) *Memory {
	t.Helper()
	dir := t.TempDir()
	journal, store, err := state.Open(t.Context(), dir, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = store.Close(), journal.Close() })
	return New(dir, store, zerolog.Nop(), "bots-own-key")
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

	k := m.Find(t.Context(), "!r", "", "Back up the database")
	for _, want := range []struct{ name, got, want string }{
		{"answers", strings.Join(k.Answers, "\n"), "Q: Which database - production or staging? | A: production | Context: Back up the database"},
		{"commands", strings.Join(k.Commands, "\n"), "Command: Back up the database | Outcome: Backed up production | Success: true | Duration: 1.0s"},
		{"preferences", strings.Join(k.Preferences, "\n"), "preference: Always answer in German"},
		{"retrieved", strings.Join(k.Retrieved, "\n"), "an earlier conversation (2026-11-23): alice: Back up"},
	} {
		if !strings.Contains(want.got, want.want) {
			t.Errorf("%s: %q lacks %q", want.name, want.got, want.want)
		}
	}
	if k := m.Find(t.Context(), "!other", "", "Back up the database"); len(k.ids) > 0 {
		t.Errorf("another room: %v", k)
	}

	// A session gets nothing twice, and nothing that happened in it.
	m.Gave(t.Context(), "!r", "s9", k)
	if again := m.Find(t.Context(), "!r", "s9", "Back up the database"); len(again.ids) > 0 {
		t.Errorf("given twice: %v", again)
	}
	if own := m.Find(t.Context(), "!r", "s1", "Back up the database"); len(own.Answers)+len(own.Commands) > 0 {
		t.Errorf("the session was there: %v", own)
	}

	// The newest answer to a question counts, and a correction replaces it.
	again := task(3, 2, "Back up the database", "Backed up staging")
	again.Answers = []Answer{{"Which database - production or staging?", "staging", "alice", "$b"}}
	learn(t, m, again)
	if k := m.Find(t.Context(), "!r", "", "Back up the database"); len(k.Answers) != 1 || !strings.Contains(k.Answers[0], "A: staging") {
		t.Errorf("answered again: %q", k.Answers)
	}
	no := task(4, 3, "no, production", "Sorry")
	no.Before = "Back up the database"
	learn(t, m, no)
	k = m.Find(t.Context(), "!r", "", "Back up the database")
	if len(k.Answers) != 1 || !strings.Contains(k.Answers[0], "A: production") || len(k.Preferences) == 0 || !strings.HasPrefix(k.Preferences[0], "correction: production") {
		t.Errorf("corrected: %q, %q", k.Answers, k.Preferences)
	}
}

func TestFindAfterManyTasks(t *testing.T) {
	m := newMemory(t)
	learn(t, m, task(3, 0, "remember that the deploy key of the harbour is in drawer seven", "Noted."))
	for n := range 60 {
		learn(t, m, task(100+n, n, fmt.Sprintf("write report number %d about topic %c", n, 'a'+n%26), "Done."))
	}
	k := m.Find(t.Context(), "!r", "", "where is the harbour's deploy key?")
	if !strings.Contains(strings.Join(k.Preferences, "\n"), "drawer seven") {
		t.Errorf("not found: %+v", k)
	}
}

func TestRedactAndEdit(t *testing.T) {
	m := newMemory(t)
	learn(t, m, task(1, 0, "remember that my cat is called Pixel", "Noted."), task(2, 0, "remember that my dog is called Rex", "Noted."))
	m.Redact(t.Context(), "!r", "$1")
	m.Edit(t.Context(), "!r", Edit{"$2", "alice", "remember that my dog is called Bruno"})
	k := m.Find(t.Context(), "!r", "", "what are my cat and my dog called?")
	all := fmt.Sprint(k.Commands, k.Preferences, k.Answers, k.Retrieved)
	if strings.Contains(all, "Pixel") || strings.Contains(all, "Rex") || !strings.Contains(all, "Bruno") {
		t.Errorf("found %s", all)
	}
	if !k.Forgotten.Event("$1") || k.Forgotten.Event("$2") || !k.Forgotten.Text("remember that my cat is called Pixel") {
		t.Error("the history would still have it")
	}
	// The task ends once more, as after a crash: it does not come back.
	learn(t, m, task(1, 0, "remember that my cat is called Pixel", "Noted."))
	if k := m.Find(t.Context(), "!r", "", "cat Pixel"); strings.Contains(fmt.Sprint(k), "Pixel") {
		t.Errorf("it came back: %+v", k)
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

	if k := m.Find(t.Context(), "!den", "", "Back up the database"); len(k.ids) > 0 {
		t.Errorf("not allowed, but found %+v", k)
	}
	k := m.Find(t.Context(), "!den", "", "Back up the database, or the walrus", "!r", "!missing", "!den")
	all := strings.Join(k.Retrieved, "\n")
	if len(k.Retrieved) == 0 || len(k.Retrieved) > mostOthers || strings.Count(all, "the room !r, ") != len(k.Retrieved) ||
		!strings.Contains(all, "A: production") || strings.Contains(all, "Emil") || strings.Contains(all, "conversation") {
		t.Errorf("found %q", k.Retrieved)
	}
	m.Gave(t.Context(), "!den", "s9", k)
	if again := m.Find(t.Context(), "!den", "s9", "Back up the database, or the walrus", "!r"); len(again.Retrieved) > 0 {
		t.Errorf("given twice: %q", again.Retrieved)
	}
	if k := m.Find(t.Context(), "!r", "", "count the doors"); strings.Contains(fmt.Sprint(k), "Nine") {
		t.Errorf("the other way round: %+v", k)
	}
	if k := m.Find(t.Context(), "!new", "", "Back up the database", "!r"); len(k.Retrieved) == 0 {
		t.Error("a room that remembers nothing itself is given nothing")
	}
	for room, want := range map[string]bool{"!den": true, "!new": true, "!r": false} {
		others := []string{"!r"}
		if got, err := m.Command(t.Context(), room, "$x", "", others...); err != nil || strings.Contains(got, "what these rooms remember: `!r`") != want {
			t.Errorf("%s is told %q, %v", room, got, err)
		}
	}
}

// A redaction also counts for what the index has of the files, before they are written again.
func TestRedactCopies(t *testing.T) {
	m := newMemory(t)
	done := task(1, 0, "remember that my cat is called Pixel", "Noted.")
	done.Calls = []Call{{Tool: "run_shell_command", Detail: "note", Output: "ok"}}
	learn(t, m, done)
	for range 2 { // as Sync does
		err := m.use(t.Context(), "!r", writeTime, func(ctx context.Context, x *memory.Index) error {
			unsettled, err := x.Unsettled(ctx)
			for _, l := range unsettled {
				source, _ := memory.SourceOf(l.Path)
				text := merge(l.Path, "", []memory.Line{l}, func(string) bool { return false })
				if _, err := x.Put(ctx, memory.Markdown(source, l.Path, text)); err != nil {
					return err
				}
			}
			return errors.Join(err, x.Settle(ctx, unsettled))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	m.Redact(t.Context(), "!r", "$1")
	if k := m.Find(t.Context(), "!r", "", "what is my cat called?"); strings.Contains(fmt.Sprint(k.Commands, k.Preferences, k.Answers, k.Retrieved), "Pixel") {
		t.Errorf("found %+v", k)
	}
}

// A message may be redacted before its task is learned.
func TestRedactBeforeLearn(t *testing.T) {
	m := newMemory(t)
	if err := m.store.SetContainer(t.Context(), "!r", "sandbox-r"); err != nil {
		t.Fatal(err)
	}
	m.Redact(t.Context(), "!r", "$1")
	learn(t, m, task(1, 0, "remember that my cat is called Pixel", "Noted."))
	if k := m.Find(t.Context(), "!r", "", "what is my cat called?"); strings.Contains(fmt.Sprint(k.Commands, k.Preferences, k.Answers, k.Retrieved), "Pixel") {
		t.Errorf("found %+v", k)
	}
}

// A long text that was forgotten is also recognized where status.md has only its beginning.
func TestForgotInStatus(t *testing.T) {
	m := newMemory(t)
	redacted := "the walrus is called Emil. " + strings.Repeat("It eats fish. ", 200)
	removed := "the seal is called Otto. " + strings.Repeat("It plays ball. ", 20)
	learn(t, m, task(1, 0, redacted, "Noted."), task(2, 0, removed, "Noted."), task(3, 0, "count the doors", "Nine."))
	m.Redact(t.Context(), "!r", "$1")
	if _, err := m.Command(t.Context(), "!r", "$x", "forget seal"); err != nil {
		t.Fatal(err)
	}
	status := workspace.StatusLines(noon, redacted, "Noted.") + workspace.StatusLines(noon, removed, "Noted.") +
		workspace.StatusLines(noon, "count the doors", "Nine.")
	left := strip("status.md", status, nil, m.Find(t.Context(), "!r", "", "doors").Forgotten.Text)
	if strings.Contains(left, "Emil") || strings.Contains(left, "Otto") || !strings.Contains(left, "count the doors") {
		t.Errorf("status.md:%s", left)
	}
}

// What was forgotten without its secrets is also recognized with them.
func TestForgot(t *testing.T) {
	m := newMemory(t)
	const said = "the database password is bots-own-key on host walrus"
	learn(t, m, task(1, 0, said, "Noted."))
	if _, err := m.Command(t.Context(), "!r", "$x", "forget walrus"); err != nil {
		t.Fatal(err)
	}
	if k := m.Find(t.Context(), "!r", "", "walrus"); !m.Forgot(k.Forgotten, said) || m.Forgot(k.Forgotten, "another text") {
		t.Error("the history would still have it")
	}
}
