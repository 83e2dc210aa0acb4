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

	"matrix-tui/state/clean"
)

// maxAnswer bounds a response in bytes.
const maxAnswer = 1 << 20

// without conceals a secret in somebody else's text and shortens the text.
func without(text string, secret Secret) string { return clean.Short(conceal(text, secret), 200) }

// conceal removes secrets from a text. It ignores very short ones: replacing them
// inside ordinary words would reveal them.
func conceal(text string, secrets ...Secret) string {
	for _, secret := range secrets {
		if len(secret.Reveal()) >= 6 {
			text = strings.ReplaceAll(text, secret.Reveal(), redacted)
		}
	}
	return text
}

// request is one request to a web API.
type request struct {
	method, url string // "" = GET
	bearer      Secret
	body        any // as JSON; nil = none
}

// checkClient does not follow redirects: a secret must not go elsewhere.
var checkClient = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// ask sends r and decodes a JSON response. If the response is not JSON, into stays
// unchanged: the status says enough. Errors contain no secret.
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
