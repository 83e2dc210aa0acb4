// Package stop carries out the orders to a task that has begun or waits: to stop it, to withdraw it before it starts,
// and to take in another message. It finds out which task is meant. It decides nothing about other messages.
package stop

import (
	"context"
	"fmt"
	"slices"

	"matrix-tui/bot/outbox"
	"matrix-tui/bot/turn"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// Key is the reaction that stops a task.
const Key = "🛑"

// Orders are the orders to the tasks of one room.
type Orders struct {
	*turn.Turn
	Out *outbox.Room
}

// meant picks the task that a user means by !stop without a reply: the running task, unless it is somebody else's and
// the user has an open question; else the task of the user's newest question; else the only open one; else nil.
func meant(all []turn.Open, user string) *turn.Open {
	own := func(one turn.Open) bool { return one.Task.Asker() == user }
	running := slices.IndexFunc(all, func(one turn.Open) bool { return one.Running })
	mine := -1
	for i, one := range all {
		if own(one) && !one.Running {
			mine = i
		}
	}
	switch {
	case running >= 0 && (mine < 0 || own(all[running])):
		return &all[running]
	case mine >= 0:
		return &all[mine]
	case len(all) == 1:
		return &all[0]
	}
	return nil
}

// ofThread returns those tasks whose thread has this root: an event in the thread asked for them, or the root is their
// event or one of our messages about them.
func (o Orders) ofThread(ctx context.Context, all []turn.Open, root string) ([]turn.Open, error) {
	at, err := o.About(ctx, root)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(one turn.Open) bool {
		return one.Task.Thread != root && (at.Task == nil || one.Task.Key != at.Task.Key)
	}), nil
}

// Works reports whether a task of this user runs or waits for its model.
func (o Orders) Works(ctx context.Context, user string) bool {
	if w := o.Current(); w != nil {
		return w.Requester() == user
	}
	next, err := o.Ahead(ctx, nil)
	return err == nil && next.Requester == user && !next.Due.At.IsZero() // it waits for its model
}

// Stop stops the task that the message in row replies to, directly or through one of the task's messages, or else, of
// those in its thread if it has one, the one that is meant.
func (o Orders) Stop(ctx context.Context, row state.Event) error {
	m, _ := row.Message()
	o.Lock()
	defer o.Unlock()
	if about := m.RelatesTo.ReplyTo(); about != "" {
		target, err := o.About(ctx, about)
		if err != nil {
			return err
		}
		if target.Task != nil {
			return o.one(ctx, target.Task.Key, row)
		}
	}
	all, err := o.Opened(ctx)
	if err != nil {
		return err
	}
	if root := m.RelatesTo.Thread(); root != "" {
		if all, err = o.ofThread(ctx, all, root); err != nil {
			return err
		}
		if len(all) == 0 {
			return o.Out.Tell(ctx, row, "No task is running in this thread, and no question is open here.")
		}
	}
	target := meant(all, row.Sender)
	if target == nil && len(all) > 0 {
		return o.Out.Tell(ctx, row, "Several tasks are waiting for an answer here. Reply `!stop` to the question you mean.")
	}
	if target == nil {
		return o.Out.Tell(ctx, row, "No task is running here, and no question is open.")
	}
	return o.one(ctx, target.Task.Key, row)
}

// One cancels a task in any state and finishes the row with the order. A running task reports that itself once its
// processes have ended.
func (o Orders) One(ctx context.Context, key string, order state.Event) error {
	o.Lock()
	defer o.Unlock()
	return o.one(ctx, key, order)
}

// End cancels a task for somebody on the page; done reports whether it had not ended yet.
func (o Orders) End(ctx context.Context, key, by string) (done bool, err error) {
	o.Lock()
	defer o.Unlock()
	rec, err := o.Env.Journal.Tasks.Get(ctx, key)
	if err != nil {
		return false, fmt.Errorf("read task: %w", err)
	}
	if rec.State == state.TaskDone || rec.State == state.TaskAnswered {
		return false, nil
	}
	return true, o.end(ctx, rec, state.Event{Event: event.Event{Room: o.Env.ID, Sender: by}})
}

// one is One for a caller that holds the lock.
func (o Orders) one(ctx context.Context, key string, order state.Event) error {
	rec, err := o.Env.Journal.Tasks.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("read task: %w", err)
	}
	if rec.State == state.TaskDone || rec.State == state.TaskAnswered {
		return o.Out.Tell(ctx, order, "That task has already ended.")
	}
	if o.IsIdle(rec) {
		return o.cancel(ctx, rec, order, order.ID)
	}
	if err := o.interrupt(ctx, rec, order); err != nil {
		return err
	}
	return o.Finish(ctx, order)
}

// cancel ends an idle task and finishes the events in closes. The caller holds the lock.
func (o Orders) cancel(ctx context.Context, rec state.Task, order state.Event, closes ...string) (err error) {
	rec.StopBy, rec.Withdrawn = order.Sender, false
	if t := o.Env.Task(rec); rec.State == state.TaskWaiting {
		err = t.Question().Cancel(ctx, order.Sender, closes...)
	} else {
		err = t.Unqueue(ctx, closes...)
	}
	if err != nil {
		return err
	}
	o.Wake()
	return nil
}

// interrupt stores that a running or queued task is to be stopped, and stops it. The caller holds the lock.
func (o Orders) interrupt(ctx context.Context, rec state.Task, order state.Event) error {
	rec.StopBy, rec.Withdrawn = order.Sender, false
	return o.note(ctx, rec, "🛑 stopping all of its processes")
}

// Withdraw ends a task that has not started. The caller holds the lock.
func (o Orders) Withdraw(ctx context.Context, rec state.Task, by string) error {
	rec.StopBy, rec.Withdrawn = by, true
	return o.note(ctx, rec, "")
}

// note stores a task that is to end, and makes the worker see that; progress is what it shows.
func (o Orders) note(ctx context.Context, rec state.Task, progress string) error {
	if err := o.Env.Note(ctx, rec, o.Env.Task(rec).Voice().Unqueued()...); err != nil {
		return fmt.Errorf("store the stop: %w", err)
	}
	o.Signal(rec.Key, progress)
	o.Wake()
	return nil
}
