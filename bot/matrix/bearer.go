package matrix

import (
	"context"
	"net/http"
	"net/url"
	"sync/atomic"
)

// bearer sends the current access token with each request to the homeserver. A redirect may lead to another server,
// such as that of its media, which never gets the token. The bot may log in again while others use the client, whose own
// field must not change then.
type bearer struct {
	home  *url.URL // the homeserver
	next  http.RoundTripper
	token atomic.Value // string; "" for none
}

func (b *bearer) set(token string) { b.token.Store(token) }

func (b *bearer) get() string {
	token, _ := b.token.Load().(string)
	return token
}

type tokenKey struct{}

// withToken returns a context for requests with this token instead of the current one.
func withToken(ctx context.Context, token string) context.Context {
	return context.WithValue(ctx, tokenKey{}, token)
}

// RoundTrip is part of [http.RoundTripper].
func (b *bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	token, ok := req.Context().Value(tokenKey{}).(string)
	if !ok {
		token = b.get()
	}
	req = req.Clone(req.Context())
	switch {
	case req.URL.Scheme != b.home.Scheme || req.URL.Host != b.home.Host:
		req.Header.Del("Authorization")
	case token != "":
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return b.next.RoundTrip(req)
}
