package matrix

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/tidwall/gjson"
)

// bearer sends the current access token with each request to the homeserver. A redirect may lead to another server,
// such as that of its media, which never gets the token. The bot may log in again, or renew the token, while others use
// the client, whose own field must not change then.
type bearer struct {
	home   *url.URL // the homeserver
	next   http.RoundTripper
	stored *storedLogin
	now    atomic.Pointer[session]
}

func (b *bearer) set(s session) { b.now.Store(&s) }

// get returns the current session, which may be empty.
func (b *bearer) get() *session {
	if s := b.now.Load(); s != nil {
		return s
	}
	return &session{}
}

type sessionKey struct{}

// withSession returns a context for requests in this session instead of the current one.
func withSession(ctx context.Context, s *session) context.Context {
	return context.WithValue(ctx, sessionKey{}, s)
}

// withToken is withSession for a token that is not renewed.
func withToken(ctx context.Context, token string) context.Context {
	return withSession(ctx, &session{AccessToken: token})
}

// RoundTrip is part of [http.RoundTripper]. A request that the homeserver refuses because the token has expired is sent
// once more with a new one.
func (b *bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	now, given := req.Context().Value(sessionKey{}).(*session)
	if !given {
		now = b.get()
	}
	if now.OAuth == nil || !b.isHome(req.URL) {
		return b.send(req, now.AccessToken)
	}
	if b.stored.isDue() {
		now = b.renewed(req.Context(), now)
	}
	resp, err := b.send(req, now.AccessToken)
	if err != nil || !isExpired(resp) || req.Body != nil && req.GetBody == nil {
		return resp, err // a body that cannot be sent again is its sender's to repeat
	}
	next := b.renewed(req.Context(), now)
	if next.AccessToken == now.AccessToken {
		return resp, nil
	}
	if req.Body != nil {
		body, err := req.GetBody()
		if err != nil {
			return resp, nil
		}
		req = req.Clone(req.Context())
		req.Body = body
	}
	_ = resp.Body.Close()
	return b.send(req, next.AccessToken)
}

// renewed returns the session with a new token, or the same session if there is none. A login as another device is not
// for those who use this one.
func (b *bearer) renewed(ctx context.Context, old *session) *session {
	s, err := b.stored.renew(ctx, old.AccessToken)
	if err != nil || old.DeviceID != "" && s.DeviceID != old.DeviceID {
		return old
	}
	b.now.CompareAndSwap(old, &s)
	return &s
}

func (b *bearer) isHome(u *url.URL) bool { return u.Scheme == b.home.Scheme && u.Host == b.home.Host }

func (b *bearer) send(req *http.Request, token string) (*http.Response, error) {
	req = req.Clone(req.Context())
	switch {
	case !b.isHome(req.URL):
		req.Header.Del("Authorization")
	case token != "":
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return b.next.RoundTrip(req)
}

// isExpired reports whether an answer rejects the access token. Its body can still be read.
func isExpired(resp *http.Response) bool {
	if resp.StatusCode != http.StatusUnauthorized {
		return false
	}
	start, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // a longer answer is no error of Matrix
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(start), resp.Body), resp.Body}
	return gjson.GetBytes(start, "errcode").String() == "M_UNKNOWN_TOKEN"
}
