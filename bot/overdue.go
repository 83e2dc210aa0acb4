package bot

import (
	"context"
	"time"

	"matrix-tui/state"
)

// watchWaits wakes each room when one of its questions is due, until ctx ends.
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
			at = time.Now().Add(time.Minute) // check again, unless the room sets a new time
		}
		timer.Reset(time.Until(at))
	}
}

// overdue sends reminders for the room's open questions and ends the tasks that
// were not answered in time. It first processes everything that was sent until now.
func (r *room) overdue(ctx context.Context) {
	if !r.bot.waits.Overdue(r.id, time.Now()) {
		return
	}
	coming := r.bot.synced.Coming()
	r.bot.account.SyncNow()
	select {
	case <-coming:
	case <-ctx.Done():
		return
	}
	r.drain(r.undecided())
	if gap, err := r.bot.Journal.HasGap(ctx, r.id); err != nil || gap {
		return // an answer may be missing: checked again in a minute
	}
	tasks, err := r.bot.Journal.WaitingIn(ctx, r.id)
	for i := 0; err == nil && i < len(tasks); i++ {
		err = r.checkWaiting(ctx, tasks[i].Key)
	}
	if err != nil && ctx.Err() == nil {
		r.bot.log.Error().Err(err).Str("room", r.id).Msg("cannot check waiting tasks") // retried in a minute
	}
}

// checkWaiting sends the reminder of one waiting task, or ends it, if that is due.
func (r *room) checkWaiting(ctx context.Context, key string) error {
	ended, err := r.env.Look(ctx, key)
	if ended {
		r.tasks.Wake()
	}
	return err
}

// pinEchoed pins a question whose echo arrived by /sync, if the bot stopped between
// sending and pinning it.
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
			if err := b.room(one.Room).checkWaiting(ctx, m.Task); err != nil && ctx.Err() == nil {
				b.log.Warn().Err(err).Str("room", one.Room).Msg("cannot pin the question") // retried when the room is next checked
			}
		})
	}
}
