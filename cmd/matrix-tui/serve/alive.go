package serve

import (
	"context"

	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/control"
)

// Alive is the subcommand alive, for what restarts a bot that is stuck, where systemd's watchdog does not. A bot that
// waits for its homeserver is not stuck, nor is one that does nothing because somebody wants it so.
func Alive(ctx context.Context, a *cli.App, args []string) error {
	if err := a.Parse(a.Flags("alive"), args); err != nil {
		return err
	}
	cfg, err := a.Config(nil)
	if err != nil || bool(cfg.Maintenance) {
		return err
	}
	return control.CallAlive(ctx, string(cfg.StateDir))
}

// once returns a check that passes until a bot is ready: it starts, and may have to wait for its homeserver.
func once(ready <-chan struct{}, alive func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-ready:
			return alive(ctx)
		default:
			return nil
		}
	}
}
