package bot

import (
	"context"
	"time"

	"matrix-tui/state"
)

// doUsage runs !usage.
func (r *room) doUsage(ctx context.Context, row state.Event, _ string) error {
	said, err := r.bot.tasks.Budget.Usage(ctx, r.id, time.Now())
	if err != nil {
		return err
	}
	return r.tell(ctx, row, said)
}
