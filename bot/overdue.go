package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/text"
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
		case <-b.waits.news:
		}
		rooms, at := b.waits.next(time.Now())
		for _, name := range rooms {
			b.room(name).control.wake()
		}
		if len(rooms) > 0 && at.After(time.Now().Add(time.Minute)) {
			at = time.Now().Add(time.Minute) // the room sets a new time, or is asked again
		}
		timer.Reset(time.Until(at))
	}
}

// due is when a waiting task is to be looked at first: when half of its time is
// over, for the reminder, or at the deadline when nobody wants one.
func (t *task) due() time.Time {
	if t.bot.NotifyQuestion {
		return t.exec.Deadline.Add(-t.patience() / 2)
	}
	return t.exec.Deadline
}

// waitUntil has the task looked at at a time.
func (t *task) waitUntil(due time.Time) {
	t.bot.waits.set(t.rec.Key, wait{t.id, t.asker(), t.rec.Thread, due, t.exec.QuestionEvent != ""})
}

// overdue reminds of the room's questions, and ends the tasks that nobody
// answered in time. What was said until now is heard first.
func (r *room) overdue(ctx context.Context) {
	if !r.bot.waits.overdue(r.id, time.Now()) {
		return
	}
	coming := r.bot.synced.coming()
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
	r.books.Lock()
	defer r.books.Unlock()
	rec, err := r.bot.Journal.Task(ctx, key)
	if errors.Is(err, state.ErrNotFound) || err == nil && rec.State != state.TaskWaiting {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read task: %w", err)
	}
	t := newTask(r, rec)
	now := time.Now()
	n := len(t.exec.Answers)
	if t.exec.QuestionEvent == "" {
		sent, err := r.bot.Journal.Message(ctx, t.question(n))
		if err != nil && !errors.Is(err, state.ErrNotFound) {
			return fmt.Errorf("look up question: %w", err)
		}
		if err == nil && sent.Status != state.Refused {
			return t.posted(ctx, sent.Event, now) // its time begins when people can see it
		}
	}
	deadline := t.exec.Deadline
	switch {
	case !now.Before(deadline):
		limit := t.patience()
		return t.expire(ctx, agent.Outcome{Ended: agent.TimedOut}, func(now time.Time) error { return t.exec.Expire(limit, now) })
	case now.Before(t.due()):
		t.waitUntil(t.due())
		return nil
	}
	t.waitUntil(deadline)
	return t.remind(ctx, now)
}

// pinEchoed pins a question that came back by /sync, where its sending was cut
// short before that.
func (b *Bot) pinEchoed(ctx context.Context, txn string) {
	if b.waits.total() == 0 {
		return
	}
	m, err := b.Journal.Message(ctx, txn)
	if err != nil || m.Kind != state.KindQuestion {
		return
	}
	if one, ok := b.waits.unpinned(m.Task); ok {
		b.start(func() {
			if err := b.room(one.room).look(ctx, m.Task); err != nil && ctx.Err() == nil {
				b.log.Warn().Err(err).Str("room", one.room).Msg("pin question") // the next look does
			}
		})
	}
}

// posted pins the question to its event and has its time begin. The caller
// holds the books.
func (t *task) posted(ctx context.Context, event string, now time.Time) error {
	t.exec.Deadline = now.Add(t.patience()).UTC()
	if event == "" {
		t.waitUntil(t.due())
		return nil // not yet: the next look will tell
	}
	if err := t.exec.Posted(event, now); err != nil {
		return err
	}
	t.waitUntil(t.due())
	if err := t.bot.Journal.Wait(ctx, t.row(), nil); err != nil {
		return fmt.Errorf("pin question: %w", err)
	}
	t.projectSoon(ctx)
	return nil
}

// remind queues the reminder of the present question, once.
func (t *task) remind(ctx context.Context, now time.Time) error {
	n := len(t.exec.Answers)
	txn := t.question(n)
	m := rendered(fmt.Sprintf("⏰ I still wait for your input: %s\n\nI give up in %s.", t.link(ctx, txn), text.Duration(t.exec.Deadline.Sub(now))))
	t.mention(m)
	m.RelatesTo = relate(t.origin(), state.AboutRef(txn))
	return t.room.queue(ctx, t.out(state.KindReminder, n, txn+"-w", m))
}

// expire ends a task that waits, as end says; closes are rows that this ends
// too. The caller holds the books.
func (t *task) expire(ctx context.Context, out agent.Outcome, end func(time.Time) error, closes ...string) error {
	if err := end(time.Now()); err != nil {
		return err
	}
	out.Detail = t.exec.ErrorMessage
	if err := t.conclude(ctx, out, closes); err != nil {
		return err
	}
	t.bot.waits.drop(t.rec.Key)
	t.tasks.wake()
	return nil
}
