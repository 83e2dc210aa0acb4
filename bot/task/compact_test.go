package task

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/agent"
	"matrix-tui/state"
)

func TestNewestTurns(t *testing.T) {
	turn := func(n int) state.Turn { return state.Turn{Content: strings.Repeat("x", n)} }
	many := make([]state.Turn, 50)
	for _, c := range []struct {
		name    string
		history []state.Turn
		want    int
	}{
		{"none", nil, 0},
		{"few", many[:3], 3},
		{"many", many, keptTurns},
		{"the newest is long", []state.Turn{turn(1), turn(keptBytes + 1)}, 1},
		{"one before is long", []state.Turn{turn(1), turn(keptBytes), turn(1), turn(1)}, 2},
		{"after a compaction", []state.Turn{turn(1), {Content: summaryHead + "x"}, turn(1), turn(1)}, 2},
		{"together", []state.Turn{turn(keptBytes / 2), turn(keptBytes / 2), turn(keptBytes / 2)}, 2},
	} {
		if got := newestTurns(c.history); got != c.want {
			t.Errorf("%s: %d", c.name, got)
		}
	}
}

func TestKeep(t *testing.T) {
	for text, want := range map[string]string{"!compact": "", "!Compact  the port ": "the port", "A file came.\n!compact it": "it", "edited to this": "edited to this", "ȺȺȺȺȺȺȺȺȺ !compact": ""} {
		if got := (compaction{&Task{text: text}}).keep(); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestRewritten(t *testing.T) {
	for words, want := range map[string]string{"the port": "!compact the port", "!Compact  the host": "!compact the host", "": "!compact"} {
		if got := Rewritten(state.Task{Details: state.Details{Compact: true}}, words); got != want {
			t.Errorf("%q: %q", words, got)
		}
		if got := Rewritten(state.Task{}, words); got != words {
			t.Errorf("another task: %q", got)
		}
	}
}

func TestCompactedText(t *testing.T) {
	for want, got := range map[string]string{
		"🗜 Compacted: 123,456 tokens → about 1,900 tokens. The next task starts a new session with a summary of this one and the room's last 8 messages, verbatim.": compactedText(8, 123_456, 1900),
		"🗜 Compacted: about 5 tokens. The next task starts a new session with a summary of this one and the room's last 1 message, verbatim.":                       compactedText(1, 0, 5),
	} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestCommandsAndTopics(t *testing.T) {
	rec := state.Task{Text: "Back up the database", State: state.TaskDone, Ended: string(agent.Completed)}
	rec.Calls = []state.Call{{Tool: "run_shell_command", Detail: "pg_dump a"}, {Tool: "read_file", Detail: "b"}, {Tool: "run_shell_command", Detail: "ls", Failed: true}}
	e := ExecutionOf(rec)
	if diff := cmp.Diff([]string{"pg_dump a", "ls"}, e.Commands); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"back", "database"}, e.Topics); diff != "" {
		t.Error(diff)
	}
	rec.State, rec.Commands = state.TaskRunning, []string{"a plan"}
	if e := ExecutionOf(rec); len(e.Topics) > 0 || cmp.Diff([]string{"a plan"}, e.Commands) != "" {
		t.Errorf("%+v", e)
	}
}
