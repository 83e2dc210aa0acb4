package task

import (
	"context"
	"fmt"
	"time"
)

// freshen ends the room's session before its next task starts, if it is stale by the room's rules: the task then starts
// a new one, like after !new. The session stays while a question is open, because the answer continues it.
func (t *Task) freshen(ctx context.Context) error {
	env := t.env
	rules := env.rules()
	rule := rules.Fresh
	if !rule.Set() || t.rec.Compact || env.Store.Conversations.Session(env.ID) == "" {
		return nil
	}
	open, err := asking(ctx, env)
	if err != nil || open {
		return err
	}
	used, err := env.Journal.Tasks.LastActive(ctx, env.ID)
	if err != nil {
		return fmt.Errorf("read when the session was last used: %w", err)
	}
	if !rule.Stale(used, time.Now().In(rules.Zone)) {
		return nil
	}
	env.Log.Info().Str("room", env.ID).Time("used", used).Msg("the session is stale: starting a new one")
	if err := env.Store.Conversations.SetSession(ctx, env.ID, ""); err != nil {
		return fmt.Errorf("end stale session: %w", err)
	}
	return nil
}

// asking reports whether a task of the room waits for an answer.
func asking(ctx context.Context, e *Env) (bool, error) {
	waiting, err := e.Journal.Tasks.WaitingIn(ctx, e.ID)
	if err != nil {
		return false, fmt.Errorf("read waiting tasks: %w", err)
	}
	return len(waiting) > 0, nil
}
