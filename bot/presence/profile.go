// Package presence handles what is around messages: the account's profile, read receipts, typing, and the address from
// which the homeserver sees the bot. The bot works without any of it, so errors are only logged.
package presence

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/queue"
	"matrix-tui/state/event"
	"matrix-tui/state/retry"
)

// Profile is the account's display name and avatar.
type Profile struct {
	Account *matrix.Account
	Group   *queue.Group
	Log     zerolog.Logger

	name    atomic.Value // string
	reading atomic.Bool  // it is being read again
}

// Name returns the bot's display name.
func (p *Profile) Name() string {
	if name, ok := p.name.Load().(string); ok {
		return name
	}
	return matrix.DisplayName
}

// Learn stores the display name.
func (p *Profile) Learn(name string) { p.name.Store(name) }

// Set gives the account a display name and an avatar if it has none. It retries while the homeserver has trouble.
func (p *Profile) Set(ctx context.Context) {
	for again := retry.New(time.Second, time.Hour); ; {
		call, cancel := context.WithTimeout(ctx, matrix.CallTimeout)
		name, err := p.Account.Profile.Set(call)
		cancel()
		if name != "" {
			p.Learn(name)
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		p.Log.Warn().Err(err).Msg("cannot set the account's profile")
		if !matrix.Temporary(err) || retry.Sleep(ctx, again.Next()) != nil {
			return
		}
	}
}

// Note reads the profile again if an event says that it has changed: the rooms call the bot by another name.
func (p *Profile) Note(ctx context.Context, e event.Event) {
	user, m, ok := e.Member()
	if !ok || user != p.Account.UserID() || m.Membership != "join" || m.Before != "join" || m.Name == p.Name() ||
		!p.reading.CompareAndSwap(false, true) {
		return
	}
	p.Group.Start(func() {
		defer p.reading.Store(false)
		before := p.Name()
		if p.Set(ctx); p.Name() == before {
			return
		}
		p.Log.Info().Str("name", p.Name()).Msg("the account's profile has changed")
	})
}
