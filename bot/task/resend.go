package task

import (
	"context"
	"errors"
	"fmt"

	"matrix-tui/state"
)

// A damaged journal may have lost messages of tasks that it still has. They are queued
// again with the same transaction IDs, so that the homeserver recognises one that it
// has got.

// resend queues the result of an answered task if the journal has no message of it.
func (t *Task) resend(ctx context.Context) error {
	m := t.Voice().final(t.rec.Result, t.env.NotifyComplete)
	if t.rec.Result == "" {
		return nil
	}
	return t.queueLost(ctx, m)
}

// resend queues the question if the journal has no message of it.
func (q Question) resend(ctx context.Context) error {
	return q.t.queueLost(ctx, q.messages(ctx)...)
}

// queueLost queues messages unless the journal has the first of them.
func (t *Task) queueLost(ctx context.Context, out ...Message) error {
	rows := t.env.Room.Render(ctx, out...)
	if len(rows) == 0 {
		return nil
	}
	_, err := t.env.Journal.Messages.Get(ctx, rows[0].Txn)
	if errors.Is(err, state.ErrNotFound) {
		if err = t.env.Journal.Messages.Queue(ctx, rows...); err == nil {
			t.env.Room.Wake()
		}
	}
	if err != nil {
		return fmt.Errorf("queue lost messages again: %w", err)
	}
	return nil
}
