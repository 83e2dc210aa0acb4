package decide

import (
	"testing"

	"matrix-tui/bot/policy"
	"matrix-tui/bot/turn"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

func TestRoute(t *testing.T) {
	ann := state.Task{Key: "1", Requester: "@ann:x", State: state.TaskWaiting, Thread: "$root"}
	held := state.Task{Key: "2", Requester: "@ann:x", State: state.TaskWaiting, HeldCommand: "rm"}
	bob := state.Task{Key: "3", Requester: "@bob:x", State: state.TaskWaiting}
	question := state.Message{Kind: state.KindQuestion}
	plain, inThread := "", "$root"
	for _, c := range []struct {
		name, thread string
		f            facts
		want         verdict
		task         string
	}{
		{"nothing asked", plain, facts{}, isTask, ""},
		{"own question", plain, facts{open: []state.Task{bob, ann}}, isAnswer, "1"},
		{"somebody else's", plain, facts{open: []state.Task{bob}}, isTask, ""},
		{"several of their own", plain, facts{open: []state.Task{ann, held}}, isAmbiguous, ""},
		{"to others", plain, facts{to: policy.Others, open: []state.Task{ann}}, isTask, ""},
		{"no mention where one is needed", plain, facts{mention: true, open: []state.Task{ann}}, isTask, ""},
		{"a mention", plain, facts{mention: true, to: policy.TheBot, open: []state.Task{ann}}, isAnswer, "1"},
		{"a plain yes", plain, facts{open: []state.Task{held}}, isUnclear, ""},
		{"yes, with a mention", plain, facts{to: policy.TheBot, open: []state.Task{held}}, isAnswer, "2"},
		{"a part before an answer", plain, facts{joins: true, open: []state.Task{ann}}, isPart, ""},
		{"stop before all", inThread, facts{stops: true, open: []state.Task{ann}}, isStop, ""},
		{"in the thread", inThread, facts{mention: true, open: []state.Task{bob, ann}}, isAnswer, "1"},
		{"a reply to a question", plain, facts{reply: &turn.About{Task: &bob, Told: question}}, isAnswer, "3"},
		{"a reply to something else", plain, facts{reply: &turn.About{}, open: []state.Task{ann}}, isTask, ""},
		{"an answered question's thread", "$other", facts{root: &turn.About{Task: &state.Task{}, Told: question}}, isTask, ""},
	} {
		row := state.Event{Event: event.Event{Type: event.TypeMessage, Sender: "@ann:x"}}
		row.Body.Message = &event.Message{MsgType: "m.text", Body: "yes"}
		if c.thread != "" {
			row.Body.Message.RelatesTo = event.Relation{RelType: "m.thread", EventID: c.thread}
		}
		got, key := c.f.route(row), ""
		if got.task != nil {
			key = got.task.Key
		}
		if got.verdict != c.want || key != c.task {
			t.Errorf("%s: %d of task %q, want %d of %q", c.name, got.verdict, key, c.want, c.task)
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
