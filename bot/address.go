package bot

import (
	"context"
	"time"

	"matrix-tui/state/retry"
)

// watchAddress keeps containers away from the address from which the homeserver sees the bot: behind 1:1 NAT, that one
// leads to this host, and no interface has it. A homeserver on this host or in its network cannot tell: see
// SANDBOX_DENY.
func (b *Bot) watchAddress(ctx context.Context) {
	for {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		address, err := b.account.SeenFrom(call)
		cancel()
		if err != nil && ctx.Err() == nil {
			b.log.Debug().Err(err).Msg("cannot ask the homeserver for this host's address")
		}
		if err == nil && address.IsValid() && b.Gateway.Own(address) {
			b.log.Info().Stringer("address", address).Msg("containers cannot reach this address: the homeserver sees this host there")
		}
		if retry.Sleep(ctx, time.Hour) != nil {
			return
		}
	}
}
