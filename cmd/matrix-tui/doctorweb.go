package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/state/clean"
)

// maxAnswer bounds what a check reads of an answer.
const maxAnswer = 1 << 20

// checkHomeserver asks for the versions of the client API.
func checkHomeserver(ctx context.Context, cfg *Config) finding {
	var answer struct {
		Versions []string `json:"versions"`
	}
	status, err := ask(ctx, request{url: string(cfg.Homeserver) + "/_matrix/client/versions"}, &answer)
	switch {
	case err != nil:
		return bad("homeserver %s does not answer (%v): check MATRIX_HOMESERVER, and that it runs", cfg.Homeserver, err)
	case status != http.StatusOK || len(answer.Versions) == 0:
		return bad("homeserver %s answers %d and no list of versions: MATRIX_HOMESERVER has to be the address of the client API (https://SERVER/.well-known/matrix/client names it)", cfg.Homeserver, status)
	}
	return good("homeserver %s speaks %s", cfg.Homeserver, answer.Versions[len(answer.Versions)-1])
}

// checkLogin proves the login without leaving a device behind: a token by
// whoami, a password by a login that is ended at once.
func checkLogin(ctx context.Context, cfg *Config, stored login) finding {
	token, whose := cfg.AccessToken, "MATRIX_ACCESS_TOKEN"
	if !token.Set() && stored.fits(cfg) {
		token, whose = stored.Token, "the stored login"
	}
	if token.Set() {
		user, status, err := whoami(ctx, cfg, token)
		switch {
		case err != nil:
			return bad("login: %s does not answer (%v)", cfg.Homeserver, err)
		case status == http.StatusOK && user != "":
			return good("login as %s by %s", user, whose)
		case status != http.StatusUnauthorized:
			return bad("login: %s answers %d to whoami: look at its log", cfg.Homeserver, status)
		case cfg.AccessToken.Set():
			return bad("login: the homeserver refuses MATRIX_ACCESS_TOKEN: make a new one, or set MATRIX_PASSWORD instead")
		case !cfg.Password.Set():
			return bad("login: the homeserver no longer knows the stored login: set MATRIX_PASSWORD, so that the bot can log in again")
		}
	}
	if !cfg.Password.Set() {
		return skipped("login cannot be checked before MATRIX_PASSWORD or MATRIX_ACCESS_TOKEN is set")
	}
	return tryPassword(ctx, cfg)
}

// checkDevice tells how others see the session in which the bot encrypts. One
// that is not signed works too, with a warning in their clients.
func checkDevice(ctx context.Context, cfg *Config, stored login) finding {
	token := cfg.AccessToken
	if !token.Set() {
		token = stored.Token
	}
	device, err := e2ee.Look(ctx, string(cfg.Homeserver), token.Reveal())
	switch {
	case errors.Is(err, e2ee.ErrNoDevice):
		return bad("device: the token belongs to no session, so that encrypted rooms cannot be read: set MATRIX_PASSWORD instead, or the token of a session that was made for the bot")
	case err != nil:
		return skipped("device: the homeserver does not tell of it (%s)", without(err.Error(), token))
	case device.Fingerprint == "":
		return good("device %s: %s The bot makes them when it starts", device.Device, device.Problem)
	case !device.Signed:
		return good("device %s, fingerprint %s, is not signed: %s Put the account's recovery key into the file recovery-key of the state folder and start the bot again, or verify the device by hand", device.Device, device.Fingerprint, device.Problem)
	}
	return good("device %s, fingerprint %s, is signed by the account's cross-signing key", device.Device, device.Fingerprint)
}

func whoami(ctx context.Context, cfg *Config, token Secret) (user string, status int, err error) {
	var answer struct {
		UserID string `json:"user_id"`
	}
	status, err = ask(ctx, request{url: string(cfg.Homeserver) + "/_matrix/client/v3/account/whoami", bearer: token}, &answer)
	return answer.UserID, status, err
}

// tryPassword logs in and out again.
func tryPassword(ctx context.Context, cfg *Config) finding {
	var answer struct {
		UserID string `json:"user_id"`
		Token  Secret `json:"access_token"`
		Error  string `json:"error"`
	}
	status, err := ask(ctx, request{
		method: http.MethodPost, url: string(cfg.Homeserver) + "/_matrix/client/v3/login",
		body: map[string]any{
			"type": "m.login.password", "identifier": map[string]string{"type": "m.id.user", "user": string(cfg.User)},
			"password": cfg.Password.Reveal(), "initial_device_display_name": "matrix-tui doctor",
		},
	}, &answer)
	switch {
	case err != nil:
		return bad("login: %s does not answer (%v)", cfg.Homeserver, err)
	case status == http.StatusTooManyRequests:
		return skipped("login: the homeserver wants fewer logins at a time: try again in a minute")
	case status != http.StatusOK:
		return bad("login as %s is refused (%d %s): check MATRIX_USER and MATRIX_PASSWORD", cfg.User, status, without(answer.Error, cfg.Password))
	}
	status, err = ask(ctx, request{method: http.MethodPost, url: string(cfg.Homeserver) + "/_matrix/client/v3/logout", bearer: answer.Token, body: map[string]any{}}, nil)
	if err != nil || status != http.StatusOK {
		return good("login as %s by MATRIX_PASSWORD (the session \"matrix-tui doctor\" could not be ended)", answer.UserID)
	}
	return good("login as %s by MATRIX_PASSWORD", answer.UserID)
}

// checkModel asks for the model's description, which proves key and name both.
func checkModel(ctx context.Context, cfg *Config) finding {
	var answer struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	address := string(cfg.GeminiURL) + "/v1beta/models/" + url.PathEscape(strings.TrimPrefix(string(cfg.GeminiModel), "models/"))
	status, err := ask(ctx, request{url: address, googleKey: cfg.GeminiKey}, &answer)
	said := without(answer.Error.Message, cfg.GeminiKey)
	switch {
	case err != nil:
		return bad("model API %s does not answer (%v): check GEMINI_BASE_URL and the network", cfg.GeminiURL, err)
	case status == http.StatusOK:
		return good("model %s at %s", cfg.GeminiModel, cfg.GeminiURL)
	case status == http.StatusNotFound:
		return bad("model %s is not known to %s (%s): set GEMINI_MODEL to one that it has", cfg.GeminiModel, cfg.GeminiURL, said)
	case status == http.StatusBadRequest, status == http.StatusUnauthorized, status == http.StatusForbidden:
		return bad("model API %s refuses the key (%d %s): check GEMINI_API_KEY", cfg.GeminiURL, status, said)
	case status == http.StatusTooManyRequests:
		return good("model API %s takes the key, but its limit is reached just now", cfg.GeminiURL)
	}
	return bad("model API %s answers %d (%s): check GEMINI_BASE_URL, or try again later", cfg.GeminiURL, status, said)
}

// without is conceal for what somebody else says, in a few words.
func without(text string, secret Secret) string { return clean.Short(conceal(text, secret), 200) }

// conceal takes secrets out of a text. One so short that it is a part of words
// would only show itself by that.
func conceal(text string, secrets ...Secret) string {
	for _, secret := range secrets {
		if len(secret.Reveal()) >= 6 {
			text = strings.ReplaceAll(text, secret.Reveal(), redacted)
		}
	}
	return text
}

// request is one question to a web API.
type request struct {
	method, url       string // "" = GET
	bearer, googleKey Secret
	body              any // as JSON; nil = none
}

// checkClient does not follow redirects: a secret must not go elsewhere.
var checkClient = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// ask sends r and reads a JSON answer. An answer that is no JSON leaves into
// as it is: the status says enough. Errors hold the address, no secret.
func ask(ctx context.Context, r request, into any) (status int, err error) {
	var body bytes.Buffer
	if r.body != nil {
		if err := json.NewEncoder(&body).Encode(r.body); err != nil {
			return 0, fmt.Errorf("write request: %w", err)
		}
	}
	if r.method == "" {
		r.method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, r.method, r.url, &body)
	if err != nil {
		return 0, fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "matrix-tui/"+version())
	if r.bearer.Set() {
		req.Header.Set("Authorization", "Bearer "+r.bearer.Reveal())
	}
	if r.googleKey.Set() {
		req.Header.Set("x-goog-api-key", r.googleKey.Reveal())
	}
	resp, err := checkClient.Do(req)
	var at *url.Error
	if errors.As(err, &at) {
		return 0, at.Err // the address is named by the caller
	}
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	data, err := readAtMost(resp.Body, maxAnswer)
	if err != nil {
		return resp.StatusCode, fmt.Errorf("read answer: %w", err)
	}
	if into != nil {
		_ = json.Unmarshal(data, into)
	}
	return resp.StatusCode, nil
}
