package task

import (
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"matrix-tui/agent"
	"matrix-tui/bot/policy"
	"matrix-tui/state"
)

// An answer of which nothing can be seen is none.
func TestInvisibleAnswer(t *testing.T) {
	got := finalText(agent.Outcome{Ended: agent.Completed, Text: "\x1b[2J\u202E\u0000 \r"})
	if !strings.HasPrefix(got, "⚠️ The agent ended without an answer") {
		t.Errorf("%q", got)
	}
}

// A result in a room that the task was not asked for in says what it is about.
func TestReminder(t *testing.T) {
	moved := (&Env{}).Task(state.Task{Room: "!b:x", Home: "!a:x", Requester: "@ann:y", Text: "paint\nthe shed"})
	if got := moved.Voice().reminder(); got != "> ann: paint the shed\n\n" {
		t.Errorf("%q", got)
	}
	moved.rec.Room = "!a:x"
	if got := moved.Voice().reminder(); got != "" {
		t.Errorf("%q", got)
	}
}

// What a message is said to be is what its transaction ID told before there were
// kinds, and tells after a restore.
func TestKinds(t *testing.T) {
	env := &Env{Deps: &Deps{Policy: policy.Open(t.TempDir(), zerolog.Nop())}, ID: "!den:here"}
	asked := env.Task(state.Task{Key: "0123456789abcdef0123", Event: "$1", State: state.TaskWaiting, Details: state.Details{
		Answers: []state.Answer{{Answer: "yes"}}, Commands: nil,
	}, Question: "Which?\n1. one\n2. two"})
	says := asked.Voice()
	said := append(asked.Question().messages(t.Context(), "", ""), says.final("done", true))
	said = append(append(said, says.begun()...), says.ended(agent.Completed)...)
	said = append(said, says.Queued(), says.notice("x"), says.closing(1, "x"), says.closing(0, "x"), says.Arrival())
	if len(said) < 13 {
		t.Errorf("only %d messages", len(said))
	}
	for _, m := range said {
		key, kind, number := state.KindOfTxn(m.Txn)
		if key != m.Task || kind != m.Kind || number != m.Number {
			t.Errorf("%s is %s %d of %s; the message says %s %d of %s", m.Txn, kind, number, key, m.Kind, m.Number, m.Task)
		}
		if m.Long == nil {
			continue
		}
		if key, kind, _ := state.KindOfTxn(m.Long.Txn + "2"); key != m.Task || kind != m.Long.Kind {
			t.Errorf("%s2 is %s of %s; the message says %s of %s", m.Long.Txn, kind, key, m.Long.Kind, m.Task)
		}
	}
}
