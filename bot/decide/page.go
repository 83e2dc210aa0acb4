package decide

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/execution"
	"matrix-tui/state/sentence"
)

// AnswerOnPage answers question number of a task of the room for somebody on the page. said is what that person is told
// if the answer does not count: the room is told nothing.
func AnswerOnPage(ctx context.Context, r *Room, v state.Visitor, key string, number int,
	text string) (said string, err error) {
	rec, err := r.Env.Journal.Tasks.Get(ctx, key)
	if err != nil {
		return "", fmt.Errorf("read task: %w", err)
	}
	if rec.State != state.TaskWaiting || number != len(rec.Answers)+1 {
		return lateText(r.Env, rec, rec.State != state.TaskWaiting && number > len(rec.Answers)), nil
	}
	row := state.Event{Event: event.Event{Room: r.Env.ID, Sender: v.User, Type: event.TypeMessage, Encryption: v.Proof}}
	given := execution.Answer{By: v.User}
	question := r.Env.Task(rec).Question()
	given.Answer, said, err = r.Proof.Granted(ctx, row, question, strings.TrimSpace(text))
	if said != "" && v.Proof != event.Verified && question.Grants() {
		said = "This may need a verified session. Answer in the room, or sign in here again with a code that you send " +
			"from a verified session."
	}
	if said != "" || err != nil {
		return said, err
	}
	t, err := r.Resume(ctx, key, given, number)
	var over *execution.TransitionError
	switch {
	case errors.Is(err, execution.ErrLimit):
		return sentence.Text(err) + " I am still waiting for an answer.", nil
	case errors.As(err, &over):
		return lateText(r.Env, t.Row(), number > len(t.Row().Answers)), nil
	}
	return "", err
}
