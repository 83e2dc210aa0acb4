package bot

import (
	"context"
	"fmt"

	"matrix-tui/bot/queue"
)

// resumeWaiting resumes waiting for answers to the questions that were open before the restart.
func (b *Bot) resumeWaiting(ctx context.Context) error {
	tasks, err := b.Journal.Tasks.Waiting(ctx)
	if err != nil {
		return fmt.Errorf("list waiting tasks: %w", err)
	}
	for _, rec := range tasks {
		env := b.room(rec.Room).env
		err := b.work.Guard(rec.Room, "resuming a question", func() error { return env.Restore(ctx, rec) })
		if err != nil && !queue.IsPanic(err) {
			return err
		}
	}
	return nil
}
