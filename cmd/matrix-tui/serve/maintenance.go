package serve

import (
	"context"

	"github.com/rs/zerolog"
)

// maintain does nothing until ctx ends. The state folder is not locked meanwhile.
func maintain(ctx context.Context, log zerolog.Logger) error {
	log.Warn().Msg("MAINTENANCE is set: the bot does nothing, so that commands can work on its state")
	s, ready := supervisor{log}, make(chan struct{})
	close(ready)
	s.ready()
	s.watch(ctx, ready, func(context.Context) error { return nil }, func() string { return "maintenance" })
	<-ctx.Done()
	s.stopping()
	return nil
}
