package bot

import (
	"context"
	"fmt"
	"time"

	"matrix-tui/bot/text"
	"matrix-tui/state"
)

// doNew runs !new: the next task starts a new session.
func (r *room) doNew(ctx context.Context, row state.Event, _ string) error {
	if err := r.turn.AwaitEnd(ctx); err != nil {
		return err
	}
	if err := r.bot.Store.Conversations.EndSession(ctx, r.id); err != nil {
		return fmt.Errorf("end session: %w", err)
	}
	r.env.SignOfLife(r.bot.ctx, 0)
	return r.tell(ctx, row, "The next task starts a new session. I keep this room's conversation, and the files are unchanged."+r.after())
}

// doCompact runs !compact: a task that summarises the session.
func (r *room) doCompact(ctx context.Context, row state.Event, _ string) error {
	return r.decider.Compact(ctx, row)
}

// doReset runs !reset: the next task starts a new session without the history and
// without the notes of earlier tasks; or, with "sandbox", in a new container.
func (r *room) doReset(ctx context.Context, row state.Event, what string) error {
	if what != "" {
		return r.resetSandbox(ctx, row)
	}
	if err := r.turn.AwaitEnd(ctx); err != nil {
		return err
	}
	release, err := r.turn.Hold(ctx)
	if err != nil {
		return err
	}
	running := release == nil
	if !running {
		defer release()
	}
	folder, err := r.env.Shelve(ctx, row.At, running)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && !running {
		return r.tell(ctx, row, "I did not reset anything, because I cannot move the agent's notes. "+r.bot.sentence(err)+incomplete(folder))
	}
	notes := ""
	if running {
		notes = " The running task is not affected, and the agent's notes stay where it can read them. Send `!reset` again after the task to put them aside."
	}
	if folder != "" && err == nil {
		notes = " The agent's notes about earlier tasks are now in " + text.Code(folder) + ". To restore them, ask me to move them back." + r.after()
	}
	if err := r.bot.Store.Conversations.EndSession(ctx, r.id); err != nil {
		return fmt.Errorf("end session: %w", err)
	}
	if err := r.bot.Store.Conversations.Set(ctx, r.id, nil); err != nil {
		return fmt.Errorf("forget history: %w", err)
	}
	return r.tell(ctx, row, "The next task starts a new session without this room's conversation. Files, transcript and what I remember (`!memory`) are kept."+notes)
}

// incomplete says where notes may be that were moved before an error.
func incomplete(folder string) string {
	if folder == "" {
		return ""
	}
	return " Those that I have moved, if any, are in " + text.Code(folder) + "."
}

// resetSandbox removes the room's container. The next task creates another on the same
// volumes.
func (r *room) resetSandbox(ctx context.Context, row state.Event) error {
	if err := r.turn.AwaitEnd(ctx); err != nil {
		return err
	}
	release, err := r.turn.Hold(ctx)
	if err != nil {
		return err
	}
	if release == nil {
		return r.tell(ctx, row, "A task is running in the container. Stop it with `!stop`, or wait for its end, and send `!reset sandbox` again.")
	}
	defer release()
	if name := r.bot.Store.Containers.Of(r.id); name != "" {
		call, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		err := r.env.Vacate(func() error { return r.bot.Podman.Remove(call, name, r.id, "") })
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return r.tell(ctx, row, "I could not remove the container. "+r.bot.sentence(err))
		}
	}
	return r.tell(ctx, row, "The next task gets a new container. `/workspace` and `/root` are kept; everything else that was installed or changed in the container is gone.")
}

// after adds that a running task is not affected, if there is one.
func (r *room) after() string {
	if r.turn.Busy("") {
		return " The running task is not affected."
	}
	return ""
}
