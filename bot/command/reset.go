package command

import (
	"context"
	"fmt"
	"time"

	"matrix-tui/bot/text"
	"matrix-tui/state/sentence"
)

// newSession runs !new: the next task starts a new session.
func newSession(ctx context.Context, c *Call) (string, error) {
	if err := c.AwaitEnd(ctx); err != nil {
		return "", err
	}
	if err := c.Env.Store.Conversations.EndSession(ctx, c.Env.ID); err != nil {
		return "", fmt.Errorf("end session: %w", err)
	}
	c.Env.SignOfLife(ctx, 0)
	return "The next task starts a new session. I keep this room's conversation, and the files are unchanged." + c.after(),
		nil
}

// reset runs !reset: the next task starts a new session without the history and
// without the notes of earlier tasks; or, with "sandbox", in a new container.
func reset(ctx context.Context, c *Call) (string, error) {
	if c.text != "" {
		return c.resetSandbox(ctx)
	}
	if err := c.AwaitEnd(ctx); err != nil {
		return "", err
	}
	release, err := c.Hold(ctx)
	if err != nil {
		return "", err
	}
	running := release == nil
	if !running {
		defer release()
	}
	folder, err := c.Env.Shelve(ctx, c.Row.At, running)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil && !running {
		return "I did not reset anything, because I cannot move the agent's notes. " + sentence.Log(c.Env.Log, err) +
			incomplete(folder), nil
	}
	notes := ""
	if running {
		notes = " The running task is not affected, and the agent's notes stay where it can read them. Send `!reset` again " +
			"after the task to put them aside."
	}
	if folder != "" && err == nil {
		notes = " The agent's notes about earlier tasks are now in " + text.Code(folder) +
			". To restore them, ask me to move them back." + c.after()
	}
	if err := c.Env.Store.Conversations.EndSession(ctx, c.Env.ID); err != nil {
		return "", fmt.Errorf("end session: %w", err)
	}
	if err := c.Env.Store.Conversations.Set(ctx, c.Env.ID, nil); err != nil {
		return "", fmt.Errorf("forget history: %w", err)
	}
	return "The next task starts a new session without this room's conversation. Files, transcript and what I remember " +
		"(`!memory`) are kept." + notes, nil
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
func (c *Call) resetSandbox(ctx context.Context) (string, error) {
	if err := c.AwaitEnd(ctx); err != nil {
		return "", err
	}
	release, err := c.Hold(ctx)
	if err != nil {
		return "", err
	}
	if release == nil {
		return "A task is running in the container. Stop it with `!stop`, or wait for its end, and send `!reset sandbox` " +
			"again.", nil
	}
	defer release()
	call, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	// Also one that has never started, and is in no file.
	err = c.Env.Vacate(func() error { return c.Env.Podman.Remove(call, c.Env.Name(), c.Env.ID, "") })
	if err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "I could not remove the container. " + sentence.Log(c.Env.Log, err), nil
	}
	return "The next task gets a new container. `/workspace` and `/root` are kept; everything else that was installed " +
		"or changed in the container is gone.", nil
}

// after adds that a running task is not affected, if there is one.
func (c *Call) after() string {
	if c.Busy("") {
		return " The running task is not affected."
	}
	return ""
}
