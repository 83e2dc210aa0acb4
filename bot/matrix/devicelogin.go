package matrix

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/id"

	"matrix-tui/bot/matrix/oauth"
	"matrix-tui/state/sentence"
)

// TakesPassword reports whether a homeserver offers a login with a password.
func TakesPassword(ctx context.Context, homeserver string) (bool, error) {
	client, err := mautrix.NewClient(homeserver, "", "")
	if err != nil {
		return false, fmt.Errorf("read homeserver address %q: %w", homeserver, err)
	}
	flows, err := client.GetLoginFlows(ctx)
	if err != nil {
		return false, fmt.Errorf("ask for the kinds of login: %w", err)
	}
	return flows.HasFlow(mautrix.AuthTypePassword), nil
}

// LogInWithCode logs in at the homeserver's OAuth 2.0 server and stores the login. show shows a person the link and the
// code that they have to confirm. The bot must not run, unless it waits for this: see [Account.Ended].
func LogInWithCode(ctx context.Context, cfg Config, show func(*oauth.Code)) (user, device string, err error) {
	stored := storedLogin{dir: cfg.StateDir, homeserver: cfg.Homeserver, user: cfg.User, log: cfg.Log}
	before := stored.load()
	server, err := oauth.Discover(ctx, cfg.Homeserver)
	if err != nil {
		return "", "", explainLogin(err, cfg)
	}
	name := id.DeviceID(rand.Text()[:10])
	if before.OAuth != nil && before.OAuth.RefreshToken == "" {
		name = before.DeviceID // its keys are still good
	}
	code, err := server.Begin(ctx, website(cfg), name.String())
	if err != nil {
		return "", "", explainLogin(err, cfg)
	}
	show(code)
	token, err := code.Wait(ctx)
	if err != nil {
		return "", "", explainLogin(err, cfg)
	}
	now := session{Homeserver: cfg.Homeserver, AccessToken: token.AccessToken,
		OAuth: &renewing{server.Issuer, code.Client, token.RefreshToken, token.Expiry}}
	client, err := mautrix.NewClient(cfg.Homeserver, "", token.AccessToken)
	if err != nil {
		return "", "", err
	}
	who, err := client.Whoami(ctx)
	switch {
	case err != nil:
		err = fmt.Errorf("ask whose login this is: %w", err)
	case cfg.User != who.UserID.String() && cfg.User != who.UserID.Localpart():
		err = sentence.Newf(errors.New("log in: another account"),
			"This was confirmed as %s, but MATRIX_USER is %s: sign in there as the bot and try again.", who.UserID, cfg.User)
	default:
		now.UserID, now.DeviceID = who.UserID, who.DeviceID
		err = stored.save(now)
	}
	last := now.OAuth
	if err == nil {
		last = before.OAuth
	}
	if last != nil && last.RefreshToken != "" && last.Issuer == server.Issuer { // nobody uses that one any more
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if err := server.Revoke(call, last.ClientID, last.RefreshToken); err != nil {
			cfg.Log.Warn().Err(err).Msg("an unused login stays in the account's list of sessions")
		}
	}
	return now.UserID.String(), now.DeviceID.String(), err
}

// website is where the operator of a bot can be found: the specification requires an address with https.
func website(cfg Config) string {
	if _, server, ok := strings.Cut(cfg.User, ":"); ok {
		if host, err := url.Parse("https://" + server); err == nil {
			return "https://" + host.Hostname()
		}
	}
	return strings.Replace(cfg.Homeserver, "http://", "https://", 1)
}

// explainLogin adds a sentence to what ends a login with a code.
func explainLogin(err error, cfg Config) error {
	switch {
	case errors.Is(err, oauth.ErrNone):
		return sentence.Newf(err, "The homeserver %s offers no OAuth 2.0 login with a code: set MATRIX_PASSWORD or "+
			"MATRIX_ACCESS_TOKEN.", cfg.Homeserver)
	case errors.Is(err, oauth.ErrExpired):
		return sentence.New(err, "Nobody has confirmed the code in time: run `matrix-tui login` again.")
	case errors.Is(err, oauth.ErrDenied):
		return sentence.New(err, "The login was refused in the browser.")
	}
	return fmt.Errorf("log in at %s: %w", cfg.Homeserver, err)
}
