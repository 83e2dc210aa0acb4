package bot

import (
	"context"
	"errors"
	"time"

	"matrix-tui/bot/policy"
	"matrix-tui/bot/schedule"
	"matrix-tui/bot/task"
	"matrix-tui/state"
)

const (
	// earlyStart is how long before a run its agent is started.
	earlyStart = 20 * time.Second
	// tickEvery is how often the clock looks at least: the host may have slept, or its clock was set.
	tickEvery = 30 * time.Second
)

// Clockwork queues what the schedules of the rooms say.
type Clockwork struct {
	bot     *Bot
	changed chan struct{} // an entry has changed; see Changed
}

// Clockwork returns the clockwork of the bot.
func (b *Bot) Clockwork() *Clockwork { return &b.clockwork }

// run queues the runs of all rooms' entries when they are due, until ctx ends.
func (c *Clockwork) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var rules *policy.Policy // with whose time zones the entries are planned
	for planned := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-c.changed:
		}
		wait, err := tickEvery, error(nil)
		if now := c.bot.policy.Now(); !planned || now != rules {
			err = c.replan(ctx)
			planned, rules = err == nil, now
		}
		if err == nil {
			wait, err = c.tick(ctx)
		}
		if err != nil && ctx.Err() == nil {
			c.bot.log.Error().Err(err).Msg("cannot queue what is due")
		}
		timer.Reset(wait)
	}
}

// replan plans the entries of rooms that have another time zone by now.
func (c *Clockwork) replan(ctx context.Context) error {
	zones, err := c.bot.Journal.Schedule.Zones(ctx)
	for _, was := range zones {
		if env := c.bot.room(was.Room).env; env.Rules().Zone.String() != was.Zone {
			err = errors.Join(err, schedule.Replan(ctx, env, c.bot.clock.Shown()))
		}
	}
	return err
}

// Changed makes the clock look: an entry has changed.
func (c *Clockwork) Changed() {
	select {
	case c.changed <- struct{}{}:
	default: // it is about to look
	}
}

// tick queues what is due, starts agents for what is about to be, and returns when to look again.
func (c *Clockwork) tick(ctx context.Context) (time.Duration, error) {
	now := c.bot.clock.Shown()
	due, err := c.bot.Journal.Schedule.Due(ctx, now.Add(earlyStart))
	if err != nil {
		return tickEvery, err
	}
	for _, e := range due {
		if e.Next.After(now) {
			c.bot.room(e.Room).env.SignOfLife(ctx, 0)
			continue
		}
		err = errors.Join(err,
			c.bot.work.Guard(e.Room, "queueing what is due", func() error { return c.fire(ctx, e, now) }))
	}
	if err != nil {
		return tickEvery, err
	}
	if len(due) == state.MaxBatch {
		return time.Second, nil
	}
	next, err := c.bot.Journal.Schedule.Next(ctx, now) // what could not be queued is tried again with the next look
	if err != nil || next.IsZero() {
		return tickEvery, err
	}
	wait := next.Sub(c.bot.clock.Shown())
	if wait > earlyStart {
		wait -= earlyStart
	}
	return min(max(wait, 0), tickEvery), nil
}

// fire queues what is due of one entry, or pauses it if its creator has lost the right to schedule tasks.
func (c *Clockwork) fire(ctx context.Context, e state.Entry, now time.Time) error {
	r := c.bot.room(e.Room)
	if waits, err := c.bot.Journal.Snapshots.Restoring(ctx, e.Room); waits || err != nil {
		return err
	}
	if barred := c.barred(r.env, e.By); barred != "" || !c.bot.hears(e.Room, e.By) {
		return r.pause(ctx, e, barred)
	}
	if err := schedule.Fire(ctx, r.env, e, now); err != nil {
		return err
	}
	r.turn.Wake()
	r.outbox.Wake()
	return nil
}

// hears reports whether a user may use the bot in a room: the bot itself may, for programs.
func (b *Bot) hears(room, user string) bool { return user == b.UserID() || b.roster.Hears(room, user) }

func (c *Clockwork) barred(env *task.Env, user string) string {
	return schedule.Barred(env.Rules().Schedule, user == c.bot.UserID() || c.bot.roster.IsOwner(user))
}

// pause pauses an entry whose creator may not schedule tasks any more, and tells the room.
func (r *room) pause(ctx context.Context, e state.Entry, barred string) error {
	said, paused := schedule.Lost(e, r.env.NameOf(e.By), barred)
	m := r.outbox.Message(state.KindReply, state.Hash(e.Key()+e.Next.String())+"-lost", said)
	if err := schedule.Ignore(r.bot.Journal.Schedule.Change(ctx, e, paused, nil, []state.Message{m})); err != nil {
		return err
	}
	r.outbox.Wake()
	return nil
}

// Running returns the schedule of a room for the task that its worker has claimed; ok is false if there is none.
func (c *Clockwork) Running(ctx context.Context, room string) (book *schedule.Book, rec state.Task, ok bool) {
	r := c.bot.room(room)
	w := r.turn.Current()
	if w == nil {
		return nil, rec, false
	}
	rec, err := c.bot.Journal.Tasks.Get(ctx, w.Key())
	return &schedule.Book{Env: r.env, User: rec.Requester, Event: rec.Event, Now: c.bot.clock.Shown(),
		Barred: c.barred(r.env, rec.Requester)}, rec, err == nil
}
