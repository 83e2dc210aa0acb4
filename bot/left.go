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
	r.decisions.Lock()
	defer r.decisions.Unlock()
	all, err := r.candidates(ctx)
	if err != nil {
		return err
	}
	running, asked := "", ""
	for _, one := range all {
		if one.task.State == state.TaskWaiting {
			asked = "The open questions are cancelled. "
			err = r.cancel(ctx, one.task, row)
		} else {
			err = r.interrupt(ctx, one.task, row)
		}
		if err != nil {
			return err
		}
		if one.running {
			running = "The running task is being stopped. "
		}
	}
	queued, err := r.bot.Journal.Tasks(ctx, r.id, state.TaskQueued)
	if err != nil {
		return err
	}
	for _, one := range queued {
		if one.Withdrawn {
			continue
		}
		if err := r.interrupt(ctx, one, row); err != nil {
			return err
		}
	}
	r.tasks.Wake()
	return r.tell(ctx, row, running+asked+said)
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
