// Package status says what a room is at, once for everybody who asks: !status, the page and programs. It decides
// nothing and formats nothing.
package status

import (
	"context"
	"fmt"

	"matrix-tui/bot/task"
	"matrix-tui/bot/turn"
	"matrix-tui/state"
)

// Room is what a room is at.
type Room struct {
	Current *task.Work   // the task that its worker has claimed; nil for none
	Next    state.Task   // the record of that task or, without one, of the next task; empty for none
	Queued  int          // tasks that wait for their turn
	Waiting []state.Task // tasks that wait for an answer, oldest first
}

// Of returns what a room is at.
func Of(ctx context.Context, t *turn.Turn) (r Room, err error) {
	tasks := t.Env.Journal.Tasks
	if r.Waiting, err = tasks.WaitingIn(ctx, t.Env.ID); err != nil {
		return r, fmt.Errorf("read waiting tasks: %w", err)
	}
	if r.Queued, err = tasks.Count(ctx, t.Env.ID, state.TaskQueued); err != nil {
		return r, fmt.Errorf("count queued tasks: %w", err)
	}
	r.Current = t.Current()
	if r.Next, err = t.Ahead(ctx, r.Current); err != nil {
		return r, err
	}
	// it counts as queued until its run is about to start
	if r.Next.State == state.TaskQueued && r.Next.StopBy == "" && (r.Current != nil || r.Rests()) {
		r.Queued--
	}
	return r, nil
}

// Rests reports whether the next task waits for a time, such as one at which the model can be used again.
func (r Room) Rests() bool { return r.Current == nil && r.Next.Due.Why != "" }
