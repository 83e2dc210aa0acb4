package recall

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/state/memory"
)

// People are shown sentences: no IDs, no labels, nothing twice, and no executions.
func TestMemoryForPeople(t *testing.T) {
	m := newMemory(t)
	empty, err := m.Command(t.Context(), "!r", "$0", "")
	if diff := cmp.Diff("I remember no preferences, facts or answers in this room yet.\n\n"+Usage, empty); diff != "" || err != nil {
		t.Error(diff, err)
	}
	done := task(1, 0, "Back up a database. Always answer in German.", "Backed up")
	done.Answers = []Answer{{"Which database should I back up?", "production", "alice", "$a1"}}
	learn(t, m, done)
	if _, err := m.Command(t.Context(), "!r", "$2", "add The staging port is 5433."); err != nil {
		t.Fatal(err)
	}
	got, err := m.Command(t.Context(), "!r", "$3", "")
	want := "**Preferences**\n\n- Always answer in German.\n\n**Facts**\n\n- The staging port is 5433.\n\n" +
		"**Answers**\n\n- Which database should I back up? – production\n\n" + Usage
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	file := memory.Hit{Source: memory.SourceMemory, Path: "MEMORY.md", Text: "Memory: " + preamble + "\nPreferences: preference: short answers (learned from: ann, 2026-01-01)\n" +
		"Answers: Q: When? | A: tonight | Context: move it\nPreferences: correction: staging (learned from: ann, 2026-01-01, about: Back up (all))\nThe bench: `oak`, 2 m\nPreferences: preference: Short answers (learned from: bob, 2026-01-02)"}
	if diff := cmp.Diff("**Preferences**\n\n- short answers\n- staging (about: Back up (all))\n\n**Answers**\n\n- When? – tonight\n\n**Notes**\n\n- The bench: 'oak', 2 m\n\n", summary([]memory.Hit{file})); diff != "" {
		t.Error(diff)
	}
}
