package bot

import (
	"context"
	"time"

	"matrix-tui/state"
)

// watchWaits wakes each room when something in it is due, until ctx ends.
func (b *Bot) watchWaits(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-b.waits.News:
		}
		rooms, at := b.waits.Next(time.Now())
		for _, name := range rooms {
			b.room(name).control.Wake()
		}
		if len(rooms) > 0 && at.After(time.Now().Add(time.Minute)) {
			at = time.Now().Add(time.Minute) // the room sets a new time, or is asked again
		}
		timer.Reset(time.Until(at))
	}
}

// overdue reminds of the room's questions, and ends the tasks that nobody
// answered in time. What was said until now is heard first.
func (r *room) overdue(ctx context.Context) {
	if !r.bot.waits.Overdue(r.id, time.Now()) {
		return
	}
	coming := r.bot.synced.Coming()
	r.bot.account.Hurry()
	select {
	case <-coming:
	case <-ctx.Done():
		return
	}
	r.drain(r.undecided())
	tasks, err := r.bot.Journal.WaitingIn(ctx, r.id)
	for i := 0; err == nil && i < len(tasks); i++ {
		err = r.look(ctx, tasks[i].Key)
	}
	if err != nil && ctx.Err() == nil {
		r.bot.log.Error().Err(err).Str("room", r.id).Msg("look at waiting tasks") // and again in a minute
	}
}

// look does what is due for one waiting task.
func (r *room) look(ctx context.Context, key string) error {
	ended, err := r.env.Look(ctx, key)
	if ended {
		r.tasks.Wake()
	}
	return err
}

// pinEchoed pins a question that came back by /sync, where its sending was cut
// short before that.
func (b *Bot) pinEchoed(ctx context.Context, txn string) {
	if b.waits.Total() == 0 {
		return
	}
	m, err := b.Journal.Message(ctx, txn)
	if err != nil || m.Kind != state.KindQuestion {
		return
	}
	if one, ok := b.waits.Unpinned(m.Task); ok {
		b.start(func() {
			if err := b.room(one.Room).look(ctx, m.Task); err != nil && ctx.Err() == nil {
				b.log.Warn().Err(err).Str("room", one.Room).Msg("pin question") // the next look does
			}
		})
	}
}
