package bot

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"matrix-tui/bot/container"
	"matrix-tui/bot/decide"
	"matrix-tui/bot/membership"
	"matrix-tui/bot/outbox"
	"matrix-tui/bot/presence"
	"matrix-tui/bot/queue"
	"matrix-tui/bot/stop"
	"matrix-tui/bot/task"
	"matrix-tui/bot/turn"
	"matrix-tui/bot/upgrade"
	"matrix-tui/state"
	"matrix-tui/state/retry"
	"matrix-tui/state/sentence"
)

// room is the work of one room. It has three workers: control handles its events in order, turn's runs its tasks, and
// outbox sends its messages.
type room struct {
	bot     *Bot
	id      string
	control queue.Worker
	outbox  *outbox.Room
	turn    turn.Turn // whose lock is held while a decision is made
	decider *decide.Room
	upgrade *upgrade.Room
	env     *task.Env // environment of the room's tasks

	typing presence.Typing

	members membership.Room // used by the control worker only

	mu     sync.Mutex
	alarms time.Time // when the room was last told about an internal error
}

func newRoom(b *Bot, id string) *room {
	r := &room{bot: b, id: id}
	r.env = &task.Env{Deps: b.tasks, Sandbox: container.New(&b.tasks.Shared, id), ID: id, Room: taskRoom{r},
		Decisions: &r.turn.Mutex}
	r.turn.Env = r.env
	r.outbox = b.outboxes.Room(id, &r.turn)
	r.upgrade = &upgrade.Room{Shared: b.upgrades, ID: id, Turn: &r.turn, Out: r.outbox, Control: &r.control}
	r.decider = &decide.Room{Orders: stop.Orders{Turn: &r.turn, Out: r.outbox}, Proof: b.proof, Judge: b.judge}
	r.members = membership.Room{Shared: &b.membership, Turn: &r.turn, Out: r.outbox, Upgrade: r.upgrade}
	r.turn.Worker = queue.Worker{Group: &b.work, Work: func() { r.drain(r.nextTask) }}
	r.control = queue.Worker{Group: &b.work, Work: func() {
		r.drain(r.undecided())
		_ = b.work.Guard(id, "checking deadlines", func() error { r.overdue(b.ctx); return nil })
	}}
	b.upgrades.Add(r.upgrade) // from now on, other rooms wake it
	return r
}

// wake makes control and turn check the journal.
func (r *room) wake() {
	r.control.Wake()
	r.turn.Wake()
}

// drain processes rows from next until there are none. A row that fails, for
// example because the disk is full, is retried until it succeeds; rows are never
// skipped.
func (r *room) drain(next func(context.Context) (func() error, error)) {
	ctx := r.bot.ctx
	for again := retry.New(time.Second, 30*time.Second); ctx.Err() == nil; {
		do := func() error { return nil }
		err := r.bot.work.Guard(r.id, "choosing the next work", func() (err error) {
			do, err = next(ctx)
			return err
		})
		if err == nil && do == nil {
			return
		}
		if err == nil {
			err = r.bot.work.Guard(r.id, "working", do)
		}
		if err == nil {
			again.Reset()
			continue
		}
		if ctx.Err() != nil {
			return
		}
		pause := again.Next()
		r.bot.log.Error().Err(err).Str("room", r.id).Dur("again_in_ms", pause).Msg("room queue stalled, retrying")
		if !errors.As(err, new(*membership.AbsentError)) {
			r.alarm(ctx, err)
		}
		if retry.Sleep(ctx, pause) != nil {
			return
		}
	}
}

const notAllowed = "Whoever asked for this may not use me any more."

// nextTask claims the task that is up next, or the tombstone if that is older, and
// returns a function that does it.
func (r *room) nextTask(ctx context.Context) (func() error, error) {
	ahead, err := r.upgrade.IsAhead(ctx)
	if err != nil {
		return nil, err
	}
	if waits, err := r.bot.Journal.Snapshots.Restoring(ctx, r.id); waits || err != nil {
		return nil, err
	}
	r.turn.Lock()
	defer r.turn.Unlock()
	if r.turn.Held() {
		return nil, nil
	}
	next, err := r.turn.UpNext(ctx)
	none := errors.Is(err, state.ErrNotFound)
	if err != nil && !none {
		return nil, fmt.Errorf("read next task: %w", err)
	}
	if until, rests := r.env.Rests(next); !none && rests {
		r.turn.WakeAt(until)
		none = true
	}
	if ahead && (none || next.State == state.TaskQueued) {
		return nil, nil // what has begun goes on
	}
	tombstone, blocked := r.upgrade.Next(next, none)
	switch {
	case tombstone != nil:
		return func() error {
			if entered, err := r.upgrade.Enter(ctx, *tombstone); err != nil || !entered {
				return err
			}
			return r.upgrade.Move(ctx, *tombstone, r.bot.room(tombstone.Body.Successor).upgrade)
		}, nil
	case none, blocked:
		return nil, nil
	}
	if next.State == state.TaskQueued && !r.allowed(next) {
		return func() error { return r.bot.Journal.Tasks.GiveUp(ctx, next.Key, notAllowed) }, nil
	}
	t := r.env.Work(ctx, next)
	r.turn.Claim(t)
	return func() error {
		defer r.turn.Leave(t)
		return r.attempt(ctx, next.Event, func() error { return t.Do(ctx) }, r.giveUpTask(ctx, next, t))
	}, nil
}

// allowed reports whether a task may start: its requester may have been blocked
// since.
func (r *room) allowed(rec state.Task) bool {
	return rec.Source == state.FromHTTP || r.bot.hears(r.id, rec.Requester)
}

// alarm tells the room about an internal error that stalls its queue, at most every
// ten minutes. It bypasses the journal, which may be the cause.
func (r *room) alarm(ctx context.Context, err error) {
	r.mu.Lock()
	quiet := time.Since(r.alarms) < 10*time.Minute
	if !quiet {
		r.alarms = time.Now()
	}
	r.mu.Unlock()
	if quiet {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	text := sentence.Log(r.bot.log, err) + " I will keep trying; nothing is lost."
	if _, err := r.bot.account.Messages.Send(ctx, r.outbox.Notice("", "", text)); err != nil {
		r.bot.log.Warn().Err(err).Str("room", r.id).Msg("cannot tell the room about the error")
	}
}
