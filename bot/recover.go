package bot

import (
	"context"
	"errors"
	"fmt"

	"matrix-tui/bot/queue"
	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/sentence"
)

// maxPanics is how often an event may end in a panic before it is given up.
const maxPanics = 2

// attempt does what an event asks for. If that panics, it is tried again as any error
// is; the second time give is called with a sentence for the room instead.
func (r *room) attempt(ctx context.Context, eventID string, do func() error, give func(said string) error) error {
	err := queue.Recovered(do)
	var panicked *queue.PanicError
	if !errors.As(err, &panicked) {
		return err
	}
	r.bot.log.Error().Str("room", r.id).Str("event", eventID).Bytes("stack", panicked.Stack).
		Msg("panic while handling an event")
	n, counted := r.bot.Journal.Events.CountAttempt(ctx, r.id, eventID)
	if counted != nil && !errors.Is(counted, state.ErrNotFound) {
		return counted
	}
	if counted == nil && n < maxPanics {
		return err
	}
	said, id := sentence.Tell(err)
	r.bot.log.Error().Str("room", r.id).Str("event", eventID).Str("error_id", id).
		Msg("event given up after repeated panics")
	return queue.Recovered(func() error { return give(said) })
}

// giveUpEvent tells the room that an event was not handled, and ends it.
func (r *room) giveUpEvent(ctx context.Context, row state.Event) func(string) error {
	return func(said string) error {
		m := r.outbox.Answer(row, state.KindReply, state.KeyOf(row.Room, row.ID)+"-p",
			"⚠️ "+said+" I could not handle this message.")
		return r.outbox.Reply(ctx, []state.Message{m}, row.ID)
	}
}

// giveUpTask tells the room that a task has failed, and ends it.
func (r *room) giveUpTask(ctx context.Context, rec state.Task, t *task.Work) func(string) error {
	return func(said string) error {
		m := r.outbox.Message(state.KindLost, rec.Key+"-p",
			"⚠️ "+said+" I stopped working on this task. The work so far is in /workspace.")
		if err := r.outbox.Queue(ctx, task.OriginOf(rec).Reply(m, rec.Event, "")); err != nil {
			return err
		}
		if err := t.GiveUp(ctx, said); err != nil {
			return fmt.Errorf("give up task: %w", err)
		}
		return nil
	}
}
