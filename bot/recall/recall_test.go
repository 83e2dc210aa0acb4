package recall

import (
	"fmt"
	"strings"
	"sync"
	"testing"
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
