package task

import (
	"context"
	"errors"
	"fmt"

	"matrix-tui/bot/crash"
	"matrix-tui/sandbox"
)

// reinstall installs in a new container the packages that were installed in the one that it replaced. It tells the
// room, and the prompt of this task, which ones could not be installed, with notes about those that could not be
// recorded. The list stays in the journal until the task's record says what became of it; until then, the
// installation is found again in the container, where it goes on when the bot or the task is stopped.
func (a *attempt) reinstall(ctx context.Context) error {
	t, env := a.task, a.task.env
	names := env.Store.Packages.Of(env.ID)
	if len(names) == 0 {
		return nil
	}
	if t.rec.Restored != a.container.ID || a.container.Only { // a pod's ID is also that of the next one
		a.shown.Set("the container is new: reinstalling what was installed in the old one")
		lost, err := a.container.Reinstall(ctx, names)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, sandbox.ErrUnreachable) {
			return &lostRun{err}
		}
		if err != nil {
			env.Log.Warn().Err(err).Str("room", env.ID).Msg("cannot reinstall packages")
		}
		a.shown.Set("")
		t.rec.Lost, t.rec.Restored = lost, a.container.ID
		if len(lost) > 0 {
			if err := env.Room.Queue(ctx, t.Voice().lost()); err != nil {
				return fmt.Errorf("queue message about packages: %w", err)
			}
		}
		if err := t.decide(ctx, func() error { return env.Note(ctx, t.Row()) }); err != nil {
			return err
		}
		crash.At("reinstalled")
	}
	if err := env.Store.Packages.Drop(ctx, env.ID); err != nil {
		return fmt.Errorf("drop packages: %w", err)
	}
	return nil
}
