package bot

import (
	"context"
	"slices"
	"time"

	"matrix-tui/bot/queue"
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
		rooms, at := b.waits.Next(b.clock.Now())
		for _, name := range rooms {
			b.room(name).control.Wake()
		}
		if len(rooms) > 0 && at.After(b.clock.Now().Add(time.Minute)) {
			at = b.clock.Now().Add(time.Minute) // check again, unless the room sets a new time
		}
		timer.Reset(at.Sub(b.clock.Now()))
	}
}

// overdue sends reminders for the room's open questions and ends the tasks that
// were not answered in time. It first processes everything that was sent until now.
func (r *room) overdue(ctx context.Context) {
	if !r.bot.waits.Overdue(r.id, r.bot.clock.Now()) {
		return
	}
	coming := r.bot.admission.Synced.Coming()
	r.bot.account.SyncNow()
	select {
	case <-coming:
	case <-ctx.Done():
		return
	}
	r.drain(r.undecided())
	if gap, err := r.bot.Journal.Gaps.Exists(ctx, r.id); err != nil || gap {
		return // an answer may be missing: checked again in a minute
	}
	tasks, err := r.bot.Journal.Tasks.WaitingIn(ctx, r.id)
	if err == nil && slices.ContainsFunc(tasks, r.env.Unasked) {
		err = r.askAgain(ctx)
	}
	for i := 0; (err == nil || queue.IsPanic(err)) && i < len(tasks); i++ {
		err = r.bot.work.Guard(r.id, "checking a question", func() error { return r.turn.Look(ctx, tasks[i].Key) })
	}
	if err != nil && ctx.Err() == nil {
		r.bot.log.Error().Err(err).Str("room", r.id).Msg("cannot check waiting tasks") // retried in a minute
	}
}

// askAgain repeats the questions from the predecessor of an upgraded room, if the bot was
// stopped before it could. Until it is in this room there is nobody to ask; the greeting
// follows.
func (r *room) askAgain(ctx context.Context) error {
	joined, err := r.bot.roster.IsIn(ctx, r.id)
	if err != nil || !joined {
		return err
	}
	if err := r.env.AskAgain(ctx); err != nil {
		return err
	}
	r.outbox.Wake()
	return nil
}
