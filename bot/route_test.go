package bot

import (
	"testing"

	"matrix-tui/state"
)

func TestQuestionNumber(t *testing.T) {
	const key = "0123456789abcdef0123"
	for txn, want := range map[string]int{
		key + "-q0": 0, key + "-q12": 12, key + "-q3-1": 3, key + "-q3-w": 3,
		key + "-q0-r1": -1, key + "-n": -1, key + "-f0": -1, key + "-q": -1, "": -1, key + "-q0-run": -1,
	} {
		n, ok := questionNumber(txn)
		if ok != (want >= 0) || ok && n != want {
			t.Errorf("%q: %d, %v; want %d", txn, n, ok, want)
		}
	}
	for n := range 3 {
		if got, ok := questionNumber((&task{key: key}).question(n)); !ok || got != n {
			t.Errorf("question %d is read as %d, %v", n, got, ok)
		}
	}
}

func TestOfQuestion(t *testing.T) {
	for _, c := range []struct {
		status     state.Status
		n, answers int
		want       verdict
	}{
		{state.Waiting, 0, 0, isAnswer},
		{state.Waiting, 1, 1, isAnswer},
		{state.Waiting, 0, 1, isLate},
		{state.Running, 0, 1, isLate},
		{state.Done, 0, 1, isLate},
		{state.Done, 0, 0, isClosed}, // nobody answered
		{state.Answered, 1, 1, isClosed},
	} {
		if got := ofQuestion(c.status, c.n, c.answers); got != c.want {
			t.Errorf("%d, question %d, %d answers: %d, want %d", c.status, c.n, c.answers, got, c.want)
		}
	}
}
