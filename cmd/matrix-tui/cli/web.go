package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/state/clean"
)

// maxAnswer bounds a response in bytes.
const maxAnswer = 1 << 20

// Without conceals a secret in somebody else's text and shortens the text.
func Without(text string, secret settings.Secret) string {
	return clean.Short(Conceal(text, secret), 200)
}

// Conceal removes secrets from a text. It ignores very short ones: replacing them
// inside ordinary words would reveal them.
func Conceal(text string, secrets ...settings.Secret) string {
	for _, secret := range secrets {
		if len(secret.Reveal()) >= 6 {
			text = strings.ReplaceAll(text, secret.Reveal(), settings.Redacted)
		}
	}
	return text
}

// Request is one request to a web API.
type Request struct {
	Method, URL string // "" = GET
	Bearer      settings.Secret
	Body        any // as JSON; nil = none
}

// CheckClient does not follow redirects: a secret must not go elsewhere.
var CheckClient = &http.Client{CheckRedirect: func(*http.Request,
	[]*http.Request) error {
	return http.ErrUseLastResponse
}}

// Ask sends r and decodes a JSON response. If the response is not JSON, into stays
// unchanged: the status says enough. Errors contain no secret.
func Ask(ctx context.Context, r Request, into any) (status int, err error) {
	var body bytes.Buffer
	if r.Body != nil {
		if err := json.NewEncoder(&body).Encode(r.Body); err != nil {
			return 0, fmt.Errorf("write request: %w", err)
		}
	}
	if r.Method == "" {
		r.Method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, &body)
	if err != nil {
		return 0, fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "matrix-tui/"+Version())
	if r.Bearer.Set() {
		req.Header.Set("Authorization", "Bearer "+r.Bearer.Reveal())
	}
	resp, err := CheckClient.Do(req)
	var at *url.Error
	if errors.As(err, &at) {
		return 0, at.Err // the address is named by the caller
	}
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	data, err := settings.ReadAtMost(resp.Body, maxAnswer)
	if err != nil {
		return resp.StatusCode, fmt.Errorf("read answer: %w", err)
	}
	if into != nil {
		_ = json.Unmarshal(data, into)
	}
	return resp.StatusCode, nil
}
