package doctor

import (
	"context"
	"errors"
	"net/http"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/settings"
)

// checkHomeserver asks for the supported versions of the client API.
func checkHomeserver(ctx context.Context, cfg *settings.Config) Finding {
	var answer struct {
		Versions []string `json:"versions"`
	}
	status, err := cli.Ask(ctx, cli.Request{URL: string(cfg.Homeserver) + "/_matrix/client/versions"}, &answer)
	switch {
	case err != nil:
		return bad("homeserver %s does not answer (%v): check MATRIX_HOMESERVER and whether the server is running",
			cfg.Homeserver, err)
	case status != http.StatusOK || len(answer.Versions) == 0:
		return bad("homeserver %s answered %d without a list of versions: MATRIX_HOMESERVER must be the address of the "+
			"client API (https://SERVER/.well-known/matrix/client shows it)", cfg.Homeserver, status)
	}
	return good("homeserver %s supports %s", cfg.Homeserver, answer.Versions[len(answer.Versions)-1])
}

// checkLogin verifies the login without leaving a device behind: a token with whoami, a
// password with a login and logout.
func checkLogin(ctx context.Context, cfg *settings.Config, stored cli.StoredLogin) Finding {
	token, whose := cfg.AccessToken, "MATRIX_ACCESS_TOKEN"
	if !token.Set() && stored.Fits(cfg) {
		token, whose = stored.Token, "the stored login"
	}
	if whose == "the stored login" && stored.Ended() {
		return bad("login: %s", matrix.EndedText)
	}
	if token.Set() {
		user, status, err := whoami(ctx, cfg, token)
		switch {
		case err != nil:
			return bad("login: %s does not answer (%v)", cfg.Homeserver, err)
		case status == http.StatusOK && user != "":
			return good("login as %s with %s", user, whose)
		case status != http.StatusUnauthorized:
			return bad("login: %s answered %d to whoami: check its log", cfg.Homeserver, status)
		case cfg.AccessToken.Set():
			return bad("login: the homeserver rejects MATRIX_ACCESS_TOKEN: create a new token, or set MATRIX_PASSWORD instead")
		case stored.OAuth != nil && time.Now().After(stored.OAuth.Expires):
			return skipped("login: the stored access token has expired: the bot renews it when it runs")
		case !cfg.Password.Set():
			return bad("login: the homeserver no longer accepts the stored login: set MATRIX_PASSWORD so that the bot can log " +
				"in again, or run `matrix-tui login`")
		}
	}
	if !cfg.Password.Set() {
		return skipped("login cannot be checked until MATRIX_PASSWORD or MATRIX_ACCESS_TOKEN is set")
	}
	return tryPassword(ctx, cfg)
}

// checkDevice reports how others see the device that the bot encrypts with. One that is
// not cross-signed works too, but clients show a warning.
func checkDevice(ctx context.Context, cfg *settings.Config, stored cli.StoredLogin) Finding {
	token := cfg.AccessToken
	if !token.Set() {
		token = stored.Token
	}
	device, err := e2ee.Look(ctx, string(cfg.Homeserver), token.Reveal())
	switch {
	case errors.Is(err, e2ee.ErrNoDevice):
		return bad("device: the access token has no device, so the bot cannot read encrypted rooms: set MATRIX_PASSWORD " +
			"instead, or use a token from a login made for the bot")
	case err != nil:
		return skipped("device: cannot be looked up on the homeserver (%s)", cli.Without(err.Error(), token))
	case device.Fingerprint == "":
		return good("device %s: %s The bot creates them when it starts", device.Device, device.Problem)
	case !device.Signed:
		return good("device %s, fingerprint %s, is not signed: %s Put the account's recovery key into the file "+
			"recovery-key in the state folder and restart the bot, or verify the device manually", device.Device,
			device.Fingerprint, device.Problem)
	}
	return good("device %s, fingerprint %s, is signed by the account's cross-signing key", device.Device,
		device.Fingerprint)
}

func whoami(ctx context.Context, cfg *settings.Config, token settings.Secret) (user string, status int, err error) {
	var answer struct {
		UserID string `json:"user_id"`
	}
	status, err = cli.Ask(ctx, cli.Request{URL: string(cfg.Homeserver) + "/_matrix/client/v3/account/whoami",
		Bearer: token}, &answer)
	return answer.UserID, status, err
}

// tryPassword logs in and out again.
func tryPassword(ctx context.Context, cfg *settings.Config) Finding {
	var answer struct {
		UserID string          `json:"user_id"`
		Token  settings.Secret `json:"access_token"`
		Error  string          `json:"error"`
	}
	status, err := cli.Ask(ctx, cli.Request{
		Method: http.MethodPost, URL: string(cfg.Homeserver) + "/_matrix/client/v3/login",
		Body: map[string]any{
			"type": "m.login.password", "identifier": map[string]string{"type": "m.id.user", "user": string(cfg.User)},
			"password": cfg.Password.Reveal(), "initial_device_display_name": "matrix-tui doctor",
		},
	}, &answer)
	switch {
	case err != nil:
		return bad("login: %s does not answer (%v)", cfg.Homeserver, err)
	case status == http.StatusTooManyRequests:
		return skipped("login: the homeserver is rate-limiting logins: try again in a minute")
	case status != http.StatusOK:
		if takes, err := matrix.TakesPassword(ctx, string(cfg.Homeserver)); err == nil && !takes {
			return bad("login: %s has no login with a password: run `matrix-tui login`", cfg.Homeserver)
		}
		return bad("login as %s was rejected (%d %s): check MATRIX_USER and MATRIX_PASSWORD", cfg.User, status,
			cli.Without(answer.Error, cfg.Password))
	}
	status, err = cli.Ask(ctx, cli.Request{Method: http.MethodPost,
		URL: string(cfg.Homeserver) + "/_matrix/client/v3/logout", Bearer: answer.Token, Body: map[string]any{}}, nil)
	if err != nil || status != http.StatusOK {
		return good("login as %s with MATRIX_PASSWORD (the session \"matrix-tui doctor\" could not be logged out)",
			answer.UserID)
	}
	return good("login as %s with MATRIX_PASSWORD", answer.UserID)
}
