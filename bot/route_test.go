package bot

import (
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"matrix-tui/agent"
	"matrix-tui/bot/policy"
	"matrix-tui/state"
)

// What a message is said to be in its row is what its transaction ID told before
// there were kinds, and tells after a restore.
func TestKinds(t *testing.T) {
	r := &room{bot: &Bot{policy: policy.Open(t.TempDir(), zerolog.Nop())}, id: "!den:here"}
	asked := newTask(r, state.Task{Key: "0123456789abcdef0123", Event: "$1", State: state.TaskWaiting, Details: state.Details{
		Answers: []state.Answer{{Answer: "yes"}}, Commands: nil,
	}, Question: "Which?\n1. one\n2. two"})
	rows := append(asked.questionRows(t.Context(), "", ""), asked.finals(t.Context(), strings.Repeat("long ", 10000))...)
	rows = append(append(rows, asked.begunRows()...), asked.endedRows(agent.Completed)...)
	rows = append(rows, asked.queuedRow(), asked.noticeRow("x"), asked.closing(1, "x"), asked.closing(0, "x"), asked.arrival())
	if len(rows) < 15 {
		t.Errorf("only %d rows", len(rows))
	}
	for _, m := range rows {
		key, kind, number := state.KindOfTxn(m.Txn)
		if key != m.Task || kind != m.Kind || number != m.Number {
			t.Errorf("%s is %s %d of %s; its row says %s %d of %s", m.Txn, kind, number, key, m.Kind, m.Number, m.Task)
		}
		if has := strings.Contains(string(m.Content), state.AboutRef("")); has != (m.About != "") {
			t.Errorf("%s is about %q: %s", m.Txn, m.About, m.Content)
		}
	}
}

func TestOfQuestion(t *testing.T) {
	for _, c := range []struct {
		stands     state.TaskState
		n, answers int
		want       verdict
	}{
		{state.TaskWaiting, 0, 0, isAnswer},
		{state.TaskWaiting, 1, 1, isAnswer},
		{state.TaskWaiting, 0, 1, isLate},
		{state.TaskRunning, 0, 1, isLate},
		{state.TaskDone, 0, 1, isLate},
		{state.TaskDone, 0, 0, isClosed}, // nobody answered
		{state.TaskAnswered, 1, 1, isClosed},
	} {
		if got := ofQuestion(c.stands, c.n, c.answers); got != c.want {
			t.Errorf("%s, question %d, %d answers: %d, want %d", c.stands, c.n, c.answers, got, c.want)
		}
	}
}
