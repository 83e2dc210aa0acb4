package bot

import (
	"context"
	"fmt"
	"strings"
	"time"

	"matrix-tui/bot/alert"
)

// tellRestored tells the owners what took the place of a damaged or lost journal. It first notes which messages the
// conversations know to be answered: they may arrive again.
func (b *Bot) tellRestored(ctx context.Context) error {
	restored, err := b.Journal.Snapshots.Restored(ctx)
	if err != nil || restored == nil {
		return err
	}
	for _, room := range b.Store.Rooms() {
		var answered []string
		history, err := b.Store.Conversations.History(ctx, room)
		if err != nil {
			return fmt.Errorf("restore answered events: %w", err)
		}
		for _, turn := range history {
			if strings.HasPrefix(turn.Event, "$") { // not a question of ours
				answered = append(answered, turn.Event)
			}
		}
		if err := b.Journal.Snapshots.Decided(ctx, room, answered...); err != nil {
			return fmt.Errorf("restore answered events: %w", err)
		}
	}
	b.watch.Note(alert.Restored(restored))
	return b.Journal.Snapshots.ForgetRestored(ctx)
}

// keepSnapshots takes a snapshot of the journal every hour, and soon after something was removed.
func (b *Bot) keepSnapshots(ctx context.Context) {
	for ctx.Err() == nil {
		next, err := b.Journal.Snapshots.Take(ctx)
		if err != nil && ctx.Err() == nil {
			b.log.Warn().Err(err).Msg("cannot take a snapshot of the journal")
		}
		select {
		case <-ctx.Done():
		case <-b.Journal.Snapshots.Stale():
		case <-time.After(next):
		}
	}
}
