package bot

import (
	"context"
	"time"

	"matrix-tui/state/retry"
)

const purgeEvery = 24 * time.Hour

// purge bounds the journal: now, and then once a day, until ctx ends.
func (b *Bot) purge(ctx context.Context) {
	for ctx.Err() == nil {
		n, err := b.Journal.Purge(ctx, time.Now().Add(-b.Archive))
		if err != nil && ctx.Err() == nil {
			b.log.Warn().Err(err).Msg("purge journal")
		}
		if n > 0 {
			b.log.Info().Int64("rows", n).Msg("journal purged")
		}
		_ = retry.Sleep(ctx, purgeEvery)
	}
}
