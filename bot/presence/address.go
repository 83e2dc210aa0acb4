package presence

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot/matrix"
	"matrix-tui/sandbox/gateway"
	"matrix-tui/state/retry"
)

// WatchAddress keeps containers away from the address from which the homeserver sees the bot: behind 1:1 NAT, that one
// leads to this host, and no interface has it. A homeserver on this host or in its network cannot tell: see
// SANDBOX_DENY.
func WatchAddress(ctx context.Context, account *matrix.Account, way *gateway.Gateway, log zerolog.Logger) {
	for {
		call, cancel := context.WithTimeout(ctx, matrix.CallTimeout)
		address, err := account.SeenFrom(call)
		cancel()
		if err != nil && ctx.Err() == nil {
			log.Debug().Err(err).Msg("cannot ask the homeserver for this host's address")
		}
		if err == nil && address.IsValid() && way.Own(address) {
			log.Info().Stringer("address", address).
				Msg("containers cannot reach this address: the homeserver sees this host there")
		}
		if retry.Sleep(ctx, time.Hour) != nil {
			return
		}
	}
}
