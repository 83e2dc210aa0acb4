package command

import (
	"context"
	"strings"
)

// answer runs !answer.
func answer(ctx context.Context, c *Call) (string, error) {
	return "", c.Room.Answer(ctx, c.Row, c.text)
}

// steer runs !steer.
func steer(ctx context.Context, c *Call) (string, error) { return "", c.Steer(ctx, c.Row, c.text) }

// stopTask runs !stop.
func stopTask(ctx context.Context, c *Call) (string, error) {
	if strings.EqualFold(c.text, "all") {
		return "", c.All(ctx, c.Row)
	}
	return "", c.Stop(ctx, c.Row)
}

// compact runs !compact: a task that summarises the session.
func compact(ctx context.Context, c *Call) (string, error) { return "", c.Room.Compact(ctx, c.Row) }
