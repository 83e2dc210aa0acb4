package bot

import (
	"context"
	"strings"
	"time"

	"matrix-tui/bot/task"
	"matrix-tui/bot/text"
	"matrix-tui/sandbox"
	"matrix-tui/state"
)

// stopAll runs !stop all: it stops the running task and those in the queue, cancels the open questions, and ends what
// earlier tasks have left running.
func (r *room) stopAll(ctx context.Context, row state.Event) error {
	said := r.endLeft(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.turn.Lock()
	defer r.turn.Unlock()
	all, err := r.candidates(ctx)
	if err != nil {
		return err
	}
	running, asked := "", ""
	for _, one := range all {
		if one.running {
			running = "The running task is being stopped. "
		}
		if one.task.State == state.TaskWaiting {
			asked = "The open questions are cancelled. "
		}
		if err := r.end(ctx, one.task, row); err != nil {
			return err
		}
	}
	queued, err := r.bot.Journal.Tasks.In(ctx, r.id, state.TaskQueued)
	if err != nil {
		return err
	}
	for _, one := range queued {
		if one.StopBy != "" {
			continue
		}
		if err := r.end(ctx, one, row); err != nil {
			return err
		}
	}
	return r.tell(ctx, row, running+asked+said)
}

// end cancels or interrupts a task. The caller holds r.turn.
func (r *room) end(ctx context.Context, rec state.Task, order state.Event) error {
	if r.isIdle(rec) {
		return r.cancel(ctx, rec, order)
	}
	return r.interrupt(ctx, rec, order)
}

// endLeft ends what earlier tasks have left running, and returns a sentence about it.
func (r *room) endLeft(ctx context.Context) string {
	const none = "Earlier tasks left nothing running."
	if r.bot.Store.Container(r.id) == "" {
		return none
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	container, err := r.env.Ensure(ctx, false)
	if err != nil {
		return r.bot.sentence(err)
	}
	list, err := container.Left(ctx)
	if err == nil {
		err = container.EndLeft(ctx) // also what is not listed
	}
	switch {
	case err != nil:
		return r.bot.sentence(err)
	case len(list) == 0:
		return none
	}
	return "Ended what earlier tasks left running:\n" + leftLines(list)
}

// leftLines returns a line for each process that tasks have left running.
func leftLines(list []sandbox.Left) string {
	lines := make([]string, len(list))
	for i, one := range list {
		lines[i] = "- " + task.LeftLine(text.Code(text.OneLine(one.Command, 200)), one)
	}
	return strings.Join(lines, "\n")
}
