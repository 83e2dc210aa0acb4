package bot

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"matrix-tui/bot/queue"
)

// resumeWaiting resumes waiting for answers to the questions that were open before the restart.
func (b *Bot) resumeWaiting(ctx context.Context) error {
	tasks, err := b.Journal.Tasks.Waiting(ctx)
	if err != nil {
		return fmt.Errorf("list waiting tasks: %w", err)
	}
	var saves errgroup.Group // concurrently, so that they share a write
	for _, rec := range tasks {
		r := b.room(rec.Room)
		save := false
		err := b.work.Guard(rec.Room, "resuming a question", func() (err error) {
			save, err = r.env.Restore(ctx, rec)
			return err
		})
		if err != nil && !queue.IsPanic(err) {
			return err
		}
		if save {
			saves.Go(func() error { r.env.ProjectSoon(ctx, rec.Key); return nil })
		}
	}
	_ = saves.Wait()
	return nil
}
