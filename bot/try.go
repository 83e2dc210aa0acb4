package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"maunium.net/go/mautrix"

	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/bot/policy"
	"matrix-tui/state/sentence"
)

// Try proves that a bot could log in and read its keys, in a copy of the state
// folder: the token is shown to the homeserver, and nothing else is said or
// asked there.
func Try(ctx context.Context, cfg Config) error {
	b, err := New(cfg, Parts{})
	if err != nil {
		return err
	}
	token := cfg.AccessToken
	if token == "" {
		token = b.loadAccount().AccessToken
	}
	if token == "" {
		return sentence.New(errors.New("log in: no token"), "There is no stored login: start the bot once with MATRIX_PASSWORD.")
	}
	b.client.AccessToken = token
	call, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	who, err := b.client.Whoami(call)
	switch {
	case errors.Is(err, mautrix.MUnknownToken):
		return sentence.New(fmt.Errorf("log in: %w", err), "The homeserver does not know the stored login.")
	case err != nil:
		return fmt.Errorf("show the token to %s: %w", cfg.Homeserver, err)
	}
	b.client.UserID, b.client.DeviceID = who.UserID, who.DeviceID
	policy.Open(cfg.StateDir, cfg.Log)
	return e2ee.Try(ctx, e2ee.Config{Client: b.client, Dir: cfg.StateDir, Owner: b.isOwner, Log: cfg.Log})
}
