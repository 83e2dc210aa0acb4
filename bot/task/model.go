package task

import (
	"cmp"
	"context"
	"fmt"

	"matrix-tui/agent"
	"matrix-tui/state"
)

// replaceModel is called after a run whose model is not available. The outcome stays as it is if the task can continue
// with another model; the room is told so. Otherwise it says what to do. stoppable is done if the task is stopped.
func (t *Task) replaceModel(ctx, stoppable context.Context, out agent.Outcome) (agent.Outcome, error) {
	gone := t.rec.Model
	next, said := t.env.Models.Replace(stoppable, t.env.Rules().Model, gone)
	if next == "" {
		if stoppable.Err() != nil {
			return out, ctx.Err() // the next attempt says so
		}
		out.Ended, out.Detail = agent.ModelError, cmp.Or(said, out.Detail)
		return out, nil
	}
	t.rec.Resumable = out.Session != ""
	return out, t.env.Room.Queue(ctx, t.Voice().modelGone(gone, next))
}

// modelGone is the line that says that a task continues with another model.
func (v Voice) modelGone(gone, next string) Message {
	return v.bare(state.KindReply, fmt.Sprintf("-model%d", v.t.rec.Attempt),
		fmt.Sprintf("🔀 The model `%s` is no longer available. I continue with `%s`.", gone, next))
}
