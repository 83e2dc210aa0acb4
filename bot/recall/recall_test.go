package recall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/state"
	"matrix-tui/state/memory"
	"matrix-tui/state/transcripts"
)

// lines returns the lines that a room's files are to have.
func lines(tb testing.TB, m *Memory, room string) (texts []string) {
	tb.Helper()
	notes, err := m.journal.Memory.Notes(tb.Context(), room)
	if err != nil {
		tb.Fatal(err)
	}
	for _, n := range notes {
		texts = append(texts, n.File+": "+n.Line())
	}
	return texts
}

// Two tasks of a room end in the same second: neither is lost.
func TestLearnAtOnce(t *testing.T) {
	m := newMemory(t)
	one, two := task(1, 0, "count the doors", "Nine doors"), task(2, 0, "count the windows", "Ten windows")
	two.Began, two.Ended = one.Began, one.Ended
	var both sync.WaitGroup
	for _, done := range []Task{one, two} {
		both.Go(func() {
			if err := m.Learn(t.Context(), done); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	all := strings.Join(lines(t, m, "!r"), "\n")
	for _, want := range []string{"count the doors → Nine doors", "count the windows → Ten windows"} {
		if strings.Count(all, want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, all)
		}
	}
	k := m.Find(t.Context(), "!r", "alice", "", "count the doors and the windows")
	if len(k.Commands) != 2 {
		t.Errorf("found %q", k.Commands)
	}
}

// What a bot has left in doubt is settled when it starts.
func TestWorkAfterRestart(t *testing.T) {
	m := newMemory(t)
	add(t, m, state.Semantic, "The walrus is called Emil.")
	if err := errors.Join(m.Doubt(t.Context(), "!r"), m.journal.Memory.RemoveNotes(t.Context(), state.Note{Room: "!r", Text: "The walrus is called Emil."})); err != nil {
		t.Fatal(err)
	}
	next := New(m.dir, m.store, m.journal, zerolog.Nop())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); next.Work(ctx) }()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		left, err := memory.Doubted(t.Context(), m.dir)
		if err != nil || time.Now().After(deadline) {
			t.Fatal(left, err)
		}
		if len(left) == 0 {
			break
		}
	}
	cancel()
	<-ended
	for _, end := range []string{"", "-wal"} {
		if data, _ := os.ReadFile(memory.Path(m.dir) + end); bytes.Contains(data, []byte("Emil")) {
			t.Error("the file has it still")
		}
	}
}

// What an index could not take while somebody else filled it comes with the next use.
func TestChangeWhileFilling(t *testing.T) {
	m := newMemory(t)
	add(t, m, state.Semantic, "The walrus is called Emil.")
	r := m.room("!r")
	changes, _ := r.lacks() // somebody begins to fill
	full := errors.New("disk full")
	if err := m.update(t.Context(), "!r", func(*memory.Index) error { return full }); !errors.Is(err, full) {
		t.Fatal(err)
	}
	r.filled(changes)
	if _, lacks := r.lacks(); !lacks {
		t.Error("the next use would not look")
	}
	if room, ok := m.next(); room != "!r" || !ok {
		t.Error("Work would not look")
	}
}

// A room takes no more imports than its index has room for; another version of a file replaces the first.
func TestImportIsBounded(t *testing.T) {
	m := newMemory(t)
	one := func(bytes int) string {
		return `{"role":"user","content":"` + strings.Repeat("word ", bytes/5) + `"}` + "\n"
	}
	if err := m.journal.Memory.Import(t.Context(), "!r", "a", []state.Imported{{Line: 1, Text: strings.Repeat("x", memory.MaxText-1000)}}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Import(t.Context(), "!r", "b", strings.NewReader(one(2000))); !errors.Is(err, memory.ErrFull) {
		t.Errorf("too much: %v", err)
	}
	if origins, err := m.journal.Memory.Imports(t.Context(), "!r"); err != nil || len(origins) != 1 {
		t.Errorf("files %q, %v", origins, err)
	}
	if n, err := m.Import(t.Context(), "!r", "a", strings.NewReader(one(2000))); err != nil || n != 1 {
		t.Errorf("another version: %d, %v", n, err)
	}
}

// A conversation that has not changed stays, but not if something of it was forgotten.
func TestRebuildKeepsConversations(t *testing.T) {
	m := newMemory(t)
	files, err := transcripts.Open(m.dir, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	for event, text := range map[string]string{"$1": "the walrus is called Emil", "$2": "the otter is called Anna"} {
		if err := files.Append("!r", transcripts.Line{Kind: transcripts.KindBegin, Event: event, Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	found := func(query string) string {
		if err := m.Rebuild(t.Context(), "!r"); err != nil {
			t.Fatal(err)
		}
		hits, err := m.Search(t.Context(), "!r", memory.Query{Text: query, Max: 9})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(hits)
	}
	if got := found("walrus") + found("otter"); !strings.Contains(got, "Emil") || !strings.Contains(got, "Anna") {
		t.Errorf("found %s", got)
	}
	if err := m.journal.Memory.KeepForgotten(t.Context(), "!r", "the walrus is called Emil"); err != nil {
		t.Fatal(err)
	}
	if got := found("walrus") + found("otter"); strings.Contains(got, "Emil") || !strings.Contains(got, "Anna") {
		t.Errorf("found %s", got)
	}
}

// After a change of the record, Work makes the index what it has, and a task that learns meanwhile loses nothing.
func TestWorkRebuilds(t *testing.T) {
	m := newMemory(t)
	add(t, m, state.Semantic, "The walrus is called Emil.")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); m.Work(ctx) }()
	for range 3 {
		if err := m.Doubt(t.Context(), "!r"); err != nil {
			t.Fatal(err)
		}
		learn(t, m, task(1, 0, "count the doors", "Nine doors"))
	}
	if err := m.journal.Memory.RemoveNotes(t.Context(), state.Note{Room: "!r", Text: "The walrus is called Emil."}); err != nil {
		t.Fatal(err)
	}
	if err := m.Settle(t.Context(), "!r"); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		x, err := memory.Open(t.Context(), m.dir, "!r")
		if err != nil {
			t.Fatal(err)
		}
		hits, err := x.Search(t.Context(), memory.Query{Text: "walrus doors", Max: 9})
		done := !x.Unfilled()
		if err := errors.Join(err, x.Close()); err != nil {
			t.Fatal(err)
		}
		if done && len(hits) > 0 && !strings.Contains(fmt.Sprint(hits), "walrus") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("found %v, rebuilt: %v", hits, done)
		}
	}
	cancel()
	<-ended
}

// What memory adds to a task: Find before it starts, Learn after its answer is stored.
func BenchmarkTask(b *testing.B) {
	m := newMemory(b)
	for n := range 300 {
		done := task(n, 0, fmt.Sprintf("write report %d about the harbour, the crane and ship %d", n, n*7), "The report is in report.md.")
		done.Answers = []Answer{{fmt.Sprintf("Which port, %d?", n), "Rostock", "alice", fmt.Sprint("$a", n)}}
		done.Calls = []Call{{Tool: "write_file", Detail: "/workspace/report.md", Output: "ok"}, {Tool: "run_shell_command", Detail: "wc report.md", Output: "100"}}
		if err := m.Learn(b.Context(), done); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("find", func(b *testing.B) {
		for b.Loop() {
			m.Find(b.Context(), "!r", "alice", "", "write a report about the crane in Rostock")
		}
	})
	b.Run("learn", func(b *testing.B) {
		n := 1000
		for b.Loop() {
			n++
			if err := m.Learn(b.Context(), task(n, 0, "write a report about the crane", "Done.")); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// What an edit or a deleted message costs in the background, in a room in which 700 KB were said.
func BenchmarkRebuild(b *testing.B) {
	m := newMemory(b)
	files, err := transcripts.Open(m.dir, zerolog.Nop())
	if err != nil {
		b.Fatal(err)
	}
	for n := range 300 {
		event := fmt.Sprint("$", n)
		if err := files.Append("!r", transcripts.Line{Kind: transcripts.KindBegin, Event: event, Text: strings.Repeat(fmt.Sprintf("word%d other%d ", n%997, n%89), 100)}); err != nil {
			b.Fatal(err)
		}
		if err := files.Append("!r", transcripts.Line{Kind: transcripts.KindAssistant, Event: event, Text: strings.Repeat(fmt.Sprintf("answer%d thing%d ", n%997, n%89), 100)}); err != nil {
			b.Fatal(err)
		}
	}
	if err := m.Rebuild(b.Context(), "!r"); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := m.Rebuild(b.Context(), "!r"); err != nil {
			b.Fatal(err)
		}
	}
}
