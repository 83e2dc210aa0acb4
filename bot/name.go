package bot

import (
	"context"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/state/event"
	"matrix-tui/state/retry"
)

// name returns the bot's display name.
func (b *Bot) name() string {
	if name, ok := b.called.Load().(string); ok {
		return name
	}
	return matrix.DisplayName
}

// setProfile gives the account a display name and an avatar if it has none. It
// retries while the homeserver has trouble.
func (b *Bot) setProfile(ctx context.Context) {
	for again := retry.New(time.Second, time.Hour); ; {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		name, err := b.account.SetProfile(call)
		cancel()
		if name != "" {
			b.called.Store(name)
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		b.log.Warn().Err(err).Msg("cannot set the account's profile")
		if !matrix.Temporary(err) || retry.Sleep(ctx, again.Next()) != nil {
			return
		}
	}
}

// noteRenamed reads the profile again if an event says that it has changed: the rooms call the bot by another name.
func (b *Bot) noteRenamed(e event.Event) {
	user, m, ok := e.Member()
	if !ok || !b.isSelf(user) || m.Membership != "join" || m.Before != "join" || m.Name == b.name() || !b.naming.CompareAndSwap(false, true) {
		return
	}
	b.start(func() {
		defer b.naming.Store(false)
		before := b.name()
		if b.setProfile(b.ctx); b.name() == before {
			return
		}
		b.log.Info().Str("name", b.name()).Msg("the account's profile has changed")
	})
}
