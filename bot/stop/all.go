package stop

import (
	"context"
	"strings"
	"time"

	"matrix-tui/bot/container"
	"matrix-tui/bot/text"
	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/state/sentence"
)

// All stops the running task and those in the queue, cancels the open questions, and ends what earlier tasks have left
// running.
func (o Orders) All(ctx context.Context, row state.Event) error {
	said := o.endLeft(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	o.Lock()
	defer o.Unlock()
	all, err := o.Opened(ctx)
	if err != nil {
		return err
	}
	running, asked := "", ""
	for _, one := range all {
		if one.Running {
			running = "The running task is being stopped. "
		}
		if one.Task.State == state.TaskWaiting {
			asked = "The open questions are cancelled. "
		}
		if err := o.end(ctx, one.Task, row); err != nil {
			return err
		}
	}
	queued, err := o.Env.Journal.Tasks.In(ctx, o.Env.ID, state.TaskQueued)
	if err != nil {
		return err
	}
	for _, rec := range queued {
		if rec.StopBy != "" {
			continue
		}
		if err := o.end(ctx, rec, row); err != nil {
			return err
		}
	}
	return o.Out.Tell(ctx, row, running+asked+said)
}

// end cancels or interrupts a task. The caller holds the lock.
func (o Orders) end(ctx context.Context, rec state.Task, order state.Event) error {
	if o.IsIdle(rec) {
		return o.cancel(ctx, rec, order)
	}
	return o.interrupt(ctx, rec, order)
}

// endLeft ends what earlier tasks have left running, and returns a sentence about it.
func (o Orders) endLeft(ctx context.Context) string {
	const none = "Earlier tasks left nothing running."
	if o.Env.Store.Containers.Of(o.Env.ID) == "" {
		return none
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	container, err := o.Env.Ensure(ctx, false, nil)
	if err != nil {
		return sentence.Log(o.Env.Log, err)
	}
	list, err := container.Left(ctx)
	if err == nil {
		err = container.EndLeft(ctx) // also what is not listed
	}
	switch {
	case err != nil:
		return sentence.Log(o.Env.Log, err)
	case len(list) == 0:
		return none
	}
	return "Ended what earlier tasks left running:\n" + LeftLines(list)
}

// LeftLines returns a line for each process that tasks have left running.
func LeftLines(list []sandbox.Left) string {
	lines := make([]string, len(list))
	for i, one := range list {
		lines[i] = "- " + container.LeftLine(text.Code(text.OneLine(one.Command, 200)), one)
	}
	return strings.Join(lines, "\n")
}
