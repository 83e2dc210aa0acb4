package recall

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"matrix-tui/state/memory"
	"matrix-tui/workspace"
)

// lines returns the lines that a room's files lack.
func lines(tb testing.TB, m *Memory, room string) (texts []string) {
	tb.Helper()
	err := m.use(tb.Context(), room, writeTime, func(ctx context.Context, x *memory.Index) error {
		unsettled, err := x.Unsettled(ctx)
		for _, l := range unsettled {
			texts = append(texts, l.Path+": "+l.Text)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
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
	k := m.Find(t.Context(), "!r", "", "count the doors and the windows")
	if len(k.Commands) != 2 {
		t.Errorf("found %q", k.Commands)
	}
}

// A correction replaces the newest answer that it is about. Learned once more, as after a crash, it leaves alone those
// that are older.
func TestCorrectTwice(t *testing.T) {
	m := newMemory(t)
	older, newer := task(1, 0, "Copy a database", "Copied"), task(2, 1, "Back up a database", "Backed up")
	older.Answers = []Answer{{"Which database should I copy?", "reporting", "alice", "$a1"}}
	newer.Answers = []Answer{{"Which database should I back up?", "production", "alice", "$a2"}}
	correction := task(3, 2, "No, use the staging database.", "Backed up staging")
	correction.Before = "Back up a database"
	learn(t, m, older, newer)
	for range 3 {
		learn(t, m, correction)
		var answers []string
		err := m.use(t.Context(), "!r", writeTime, func(ctx context.Context, x *memory.Index) error {
			hits, err := x.Newest(ctx, 20, memory.SourceAnswer)
			for _, hit := range hits {
				question, answer, _ := parseAnswer(hit.Text)
				answers = append(answers, question+" "+answer)
			}
			return err
		})
		want := []string{
			"Which database should I back up? use the staging database",
			"Which database should I copy? reporting",
		}
		if err != nil || !slices.Equal(answers, want) {
			t.Errorf("answers %q, %v, want %q", answers, err, want)
		}
	}
}

// context.md names the newest tasks that did something.
func TestPriorTasks(t *testing.T) {
	m := newMemory(t)
	for n := range maxPrior + 5 {
		done := task(n, 0, fmt.Sprintf("repair door %d.", n), "Repaired")
		done.Calls = []Call{{Tool: "run_shell_command", Detail: "fix", Output: "ok"}}
		learn(t, m, done)
	}
	learn(t, m, task(100, 0, "how are you?", "Fine"))
	failed := task(101, 0, "repair the roof", "No ladder")
	failed.Success, failed.Calls = false, []Call{{Tool: "run_shell_command", Detail: "climb"}}
	learn(t, m, failed)
	var prior []string
	for _, line := range lines(t, m, "!r") {
		if text, ok := strings.CutPrefix(line, strings.TrimPrefix(workspace.ContextPath, workspace.Dir+"/")+": "); ok {
			prior = append(prior, text)
		}
	}
	day := noon.Format(time.DateOnly)
	if len(prior) != maxPrior || prior[0] != "["+day+"] repair door 5. → Repaired" || prior[maxPrior-1] != fmt.Sprintf("[%s] repair door %d. → Repaired", day, maxPrior+4) {
		t.Errorf("%d prior tasks: %q", len(prior), prior)
	}
}

// A session is not given what its own tasks have left in the files, but another one is.
func TestFindOwnLines(t *testing.T) {
	m := newMemory(t)
	done := task(1, 0, "paint the shed, remember that it is red", "Painted the shed")
	done.Calls = []Call{{Tool: "run_shell_command", Detail: "paint", Output: "ok"}}
	learn(t, m, done)
	err := m.use(t.Context(), "!r", writeTime, func(ctx context.Context, x *memory.Index) error {
		files := map[string]string{}
		unsettled, err := x.Unsettled(ctx)
		if err != nil {
			return err
		}
		for _, l := range unsettled {
			files[l.Path] = merge(l.Path, files[l.Path], []memory.Line{l}, func(string) bool { return false })
		}
		for path, text := range files {
			source, _ := memory.SourceOf(path)
			if _, err := x.Put(ctx, memory.Markdown(source, path, text)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	const query = "what colour is the painted shed?"
	if k := m.Find(t.Context(), "!r", "", query); !strings.Contains(strings.Join(k.Retrieved, "\n"), "MEMORY.md:") && !strings.Contains(strings.Join(k.Retrieved, "\n"), "context.md:") {
		t.Errorf("a new session is given %q", k.Retrieved)
	}
	if k := m.Find(t.Context(), "!r", done.Session, query); len(k.Retrieved) > 0 {
		t.Errorf("its own session is given %q", k.Retrieved)
	}
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
			m.Find(b.Context(), "!r", "", "write a report about the crane in Rostock")
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
