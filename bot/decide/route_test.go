package decide

import (
	"testing"

	"matrix-tui/state"
)

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
