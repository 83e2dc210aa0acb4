package task

import (
	"context"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"matrix-tui/agent"
	"matrix-tui/bot/container"
	"matrix-tui/bot/policy"
	"matrix-tui/state"
)

// An answer without visible characters counts as no answer.
func TestInvisibleAnswer(t *testing.T) {
	got := finalText(agent.Outcome{Ended: agent.Completed, Text: "\x1b[2J\u202E\u0000 \r"})
	if !strings.HasPrefix(got, "⚠️ The agent ended without an answer") {
		t.Errorf("%q", got)
	}
}

// The remark that an answer was cut is not in the code block that was cut.
func TestCutAnswer(t *testing.T) {
	got := finalText(agent.Outcome{Ended: agent.Completed, Text: "So:\n```go\nx :=", Cut: "It was cut."})
	if got != "So:\n```go\nx :=\n```\n\n_It was cut._" {
		t.Errorf("%q", got)
	}
}

// A result in another room than its task quotes the task.
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

// trusting is a room in which nobody has to prove anything.
type trusting struct{ Room }

func (trusting) Proof(context.Context) Proof { return Proof{} }

// The kind of a message agrees with its transaction ID, from which older journals and
// restores derive it.
func TestKinds(t *testing.T) {
	env := newEnv(&Deps{Shared: container.Shared{Policy: policy.Open(t.TempDir(), zerolog.Nop())}}, "!den:here")
	env.Room = trusting{}
	asked := env.Task(state.Task{Key: "0123456789abcdef0123", Event: "$1", State: state.TaskWaiting, Details: state.Details{
		Answers: []state.Answer{{Answer: "yes"}}, Commands: nil,
	}, Question: "Which?\n1. one\n2. two"})
	says := asked.Voice()
	said := append(asked.Question().messages(t.Context()), asked.Question().closed("x", "")...)
	said = append(said, says.final("done", true))
	said = append(append(said, says.started()...), says.ended(agent.Completed)...)
	said = append(said, says.Queued(), says.notice("x"), says.closing(1, "x", ""), says.closing(0, "x", ""), says.Arrival())
	if len(said) < 13 {
		t.Errorf("only %d messages", len(said))
	}
	for _, m := range said {
		key, kind, number := state.KindOfTxn(m.Txn)
		if key != m.Task || kind != m.Kind || number != m.Number {
			t.Errorf("%s: kind %s, number %d, task %s; the message has %s, %d, %s", m.Txn, kind, number, key, m.Kind, m.Number, m.Task)
		}
		if m.Long == nil {
			continue
		}
		if key, kind, _ := state.KindOfTxn(m.Long.Txn + "2"); key != m.Task || kind != m.Long.Kind {
			t.Errorf("%s2: kind %s, task %s; the message has %s, %s", m.Long.Txn, kind, key, m.Long.Kind, m.Task)
		}
	}
}

// A stop is told in a sentence or two, and so that the agent's session lacks it.
func TestStoppedText(t *testing.T) {
	for want, got := range map[string]string{
		"⏹ Stopped.": stoppedText("", false),
		"⏹ Stopped. Changes so far stay in /workspace.":               stoppedText("", true),
		"⏹ Stopped, as bob asked. Changes so far stay in /workspace.": stoppedText("bob", true),
	} {
		if got != want || !fromBot(got) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if !fromBot("🛑 Stopped, as ann asked, before it began.") || fromBot("I stopped.") {
		t.Error("what the bot said is not recognised")
	}
}
