package bot

import (
	"context"
	"errors"
	"time"

	"matrix-tui/bot/task"
	"matrix-tui/bot/update"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/retry"
)

// sentWait is how long the old release waits for its last messages to be sent, and sentLook is how often it checks.
const sentWait, sentLook = 5 * time.Second, 10 * time.Millisecond

// ErrSwitch is returned by Run when the new release is ready to take over this process.
var ErrSwitch = errors.New("a new release takes over")

// SelfUpdate prepares the new release, waits for running tasks and makes Run return ErrSwitch. The caller has called
// Begin. After an error the bot keeps running unchanged.
func (b *Bot) SelfUpdate(ctx context.Context, o update.Order, say func(string)) error {
	to, err := b.Updates.Prepare(ctx, o, say)
	if err != nil {
		return err
	}
	if n := b.awaitTasks(ctx); n > 0 {
		b.log.Info().Int("tasks", n).Msg("updating while tasks are running: they continue in their containers")
	}
	present, err := snapshot(ctx, b.Store)
	if err != nil {
		return err
	}
	if err := b.Updates.Commit(present); err != nil {
		return err
	}
	say("Release `" + to + "` takes over now.")
	awaitSent(ctx, b.Journal, o.Room)
	b.log.Info().Str("to", to).Msg("a new release takes over")
	b.leave(ErrSwitch)
	return nil
}

// awaitSent waits up to sentWait for a room's queued messages to be sent, because the switch may take a minute and the
// room should know about it.
func awaitSent(ctx context.Context, journal *state.Journal, room string) {
	ctx, cancel := context.WithTimeout(ctx, sentWait)
	defer cancel()
	for room != "" {
		if _, err := journal.Messages.Next(ctx, room); err != nil || retry.Sleep(ctx, sentLook) != nil {
			return
		}
	}
}

// awaitTasks waits up to UpdateWait for the current tasks and returns how many are still running.
func (b *Bot) awaitTasks(ctx context.Context) int {
	var running []*task.Work
	b.mu.Lock()
	for _, r := range b.rooms {
		if t := r.turn.Current(); t != nil {
			running = append(running, t)
		}
	}
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, b.UpdateWait)
	defer cancel()
	for i, t := range running {
		select {
		case <-t.Done():
		case <-ctx.Done():
			return len(running) - i
		}
	}
	return 0
}

// snapshot returns the present state.
func snapshot(ctx context.Context, store *state.Store) (update.Snapshot, error) {
	s := update.Snapshot{Rooms: len(store.Containers.All())}
	for _, name := range store.Rooms() {
		history, err := store.Conversations.History(ctx, name)
		if err != nil {
			return s, err
		}
		s.Turns += len(history)
	}
	return s, nil
}

// tellUpdate reports the outcome of the last update, once, to the room that asked. If it cannot, the next start tries
// again; repeating it is harmless, because the transaction ID is the same.
func (b *Bot) tellUpdate(ctx context.Context) {
	if b.Updates == nil {
		return
	}
	res, untold := b.Updates.Result()
	if !untold {
		return
	}
	var err error
	if res.Room != "" {
		err = b.room(res.Room).tellResult(ctx, res)
	}
	if err == nil {
		err = b.Updates.Told()
	}
	if err != nil {
		b.log.Error().Err(err).Str("room", res.Room).Msg("cannot report the outcome of the update")
	}
}

func (r *room) tellResult(ctx context.Context, res update.Result) error {
	asked := state.Event{Event: event.Event{Room: r.id, ID: res.Event}}
	if row, err := r.bot.Journal.Events.Get(ctx, r.id, res.Event); err == nil {
		asked = row
	} else if !errors.Is(err, state.ErrNotFound) {
		return err
	}
	present, err := snapshot(ctx, r.bot.Store)
	if err != nil {
		return err
	}
	return r.outbox.Queue(ctx, r.outbox.Answer(asked, state.KindUpdate, state.KeyOf(asked.Room, asked.ID)+"-updated",
		res.Text(present)))
}
