package bot

import (
	"context"

	"matrix-tui/bot/policy"
)

// Try proves that a bot could log in and read its keys, in a copy of the state
// folder: the token is shown to the homeserver, and nothing else is said or
// asked there.
func Try(ctx context.Context, cfg Config) error {
	b, err := New(cfg, Parts{})
	if err != nil {
		return err
	}
	policy.Open(cfg.StateDir, cfg.Log)
	return b.account.Try(ctx)
}
