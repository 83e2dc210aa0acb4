package command

import (
	"context"
	"time"
)

// usage runs !usage.
func usage(ctx context.Context, c *Call) (string, error) {
	return c.Env.Budget.Usage(ctx, c.Env.ID, time.Now())
}
