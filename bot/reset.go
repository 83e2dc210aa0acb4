package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"matrix-tui/bot/text"
	"matrix-tui/sandbox"
	"matrix-tui/state"
)

// doNew runs !new: the next task starts a new session.
func (r *room) doNew(ctx context.Context, row state.Event, _ string) error {
	if err := r.waitForEnd(ctx); err != nil {
		return err
	}
	if err := r.bot.Store.SetSession(ctx, r.id, ""); err != nil {
		return fmt.Errorf("forget session: %w", err)
	}
	r.env.SignOfLife(r.bot.ctx, 0)
	return r.tell(ctx, row, "The next task starts a new session. I keep this room's conversation, and the files are unchanged."+r.after())
}

// doCompact runs !compact: a task that summarises the session.
func (r *room) doCompact(ctx context.Context, row state.Event, _ string) error {
	r.decisions.Lock()
	defer r.decisions.Unlock()
	return r.put(ctx, row, true)
}

// doReset runs !reset: the next task starts a new session without the history and
// without the notes of earlier tasks; or, with "sandbox", in a new container.
func (r *room) doReset(ctx context.Context, row state.Event, what string) error {
	switch what {
	case "":
	case "sandbox":
		return r.resetSandbox(ctx, row)
	default:
		return r.tell(ctx, row, "`!reset` starts over without this room's conversation. `!reset sandbox` replaces the container.")
	}
	if err := r.waitForEnd(ctx); err != nil {
		return err
	}
	notes := ""
	if r.busy("") {
		notes = " The running task is not affected, and the agent's notes stay where it can read them. Send `!reset` again after the task to put them aside."
	} else if folder, err := r.env.Shelve(ctx, time.Now()); err != nil && ctx.Err() == nil {
		return r.tell(ctx, row, "I did not reset anything, because I cannot move the agent's notes. "+r.bot.sentence(err))
	} else if folder != "" {
		notes = " The agent's notes about earlier tasks are now in " + text.Code(folder) + ". To restore them, ask me to move them back."
	}
	if err := r.bot.Store.SetSession(ctx, r.id, ""); err != nil {
		return fmt.Errorf("forget session: %w", err)
	}
	if err := r.bot.Store.SetHistory(ctx, r.id, nil); err != nil {
		return fmt.Errorf("forget history: %w", err)
	}
	return r.tell(ctx, row, "The next task starts a new session without this room's conversation. Files, transcript and what I remember (`!memory`) are kept."+notes)
}

// resetSandbox removes the room's container. The next task creates another on the same
// volumes.
func (r *room) resetSandbox(ctx context.Context, row state.Event) error {
	if err := r.waitForEnd(ctx); err != nil {
		return err
	}
	if r.busy("") {
		return r.tell(ctx, row, "A task is running in the container. Stop it with `!stop`, or wait for its end, and send `!reset sandbox` again.")
	}
	if name := r.bot.Store.Container(r.id); name != "" {
		call, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		if err := r.bot.Podman.Destroy(call, name); err != nil && !errors.Is(err, sandbox.ErrNotFound) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return r.tell(ctx, row, "I could not remove the container. "+r.bot.sentence(err))
		}
		r.env.Warm.Forget(r.id)
	}
	return r.tell(ctx, row, "The next task gets a new container. `/workspace` and `/root` are kept; everything else that was installed or changed in the container is gone.")
}

// after adds that a running task is not affected, if there is one.
func (r *room) after() string {
	if r.busy("") {
		return " The running task is not affected."
	}
	return ""
}
