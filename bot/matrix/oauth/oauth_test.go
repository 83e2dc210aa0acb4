package oauth_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"matrix-tui/bot/bottest/oauthserver"
	"matrix-tui/bot/matrix/oauth"
)

// serve starts a server in front of a homeserver that lets everybody in. In the end, nobody may have sent what is not allowed.
func serve(t *testing.T, change func(*oauthserver.Server)) *oauthserver.Server {
	t.Helper()
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"access_token":"behind","user_id":"@bot:here"}`))
	}))
	t.Cleanup(behind.Close)
	s, err := oauthserver.New(behind.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if change != nil {
		change(s)
	}
	return s
}

func begin(t *testing.T, s *oauthserver.Server) (*oauth.Server, *oauth.Code) {
	t.Helper()
	server, err := oauth.Discover(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	code, err := server.Begin(t.Context(), "https://example.org", "ABCDEFGHIJ")
	if err != nil {
		t.Fatal(err)
	}
	if code.Link != s.URL()+"/link" || !strings.Contains(code.Complete, code.Text) || time.Until(code.Until) > s.CodeLife {
		t.Errorf("%+v", code)
	}
	return server, code
}

// use uses an access token.
func use(ctx context.Context, s *oauthserver.Server, token string) (status int) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+"/_matrix/client/v3/account/whoami", http.NoBody)
	if err != nil {
		return 0
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

func TestLogin(t *testing.T) {
	for name, change := range map[string]func(*oauthserver.Server){
		"stable":   nil,
		"unstable": func(s *oauthserver.Server) { s.Unstable = true },
		"slow":     func(s *oauthserver.Server) { s.Slow = true },
		"down":     func(s *oauthserver.Server) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, change)
			server, code := begin(t, s)
			if name == "down" {
				s.Down(true)
				time.AfterFunc(2500*time.Millisecond, func() { s.Down(false) })
			}
			if err := s.Confirm(t.Context(), code.Text, "bot", "word"); err != nil {
				t.Fatal(err)
			}
			first, err := code.Wait(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if left := time.Until(first.Expiry); left > s.Life || left < s.Life-time.Minute || use(t.Context(), s, first.AccessToken) != http.StatusOK {
				t.Errorf("the token lives for %s", left)
			}
			lost, err := server.Refresh(t.Context(), code.Client, first.RefreshToken)
			if err != nil {
				t.Fatal(err)
			}
			second, err := server.Refresh(t.Context(), code.Client, first.RefreshToken) // the answer was lost
			if err != nil || second.AccessToken == lost.AccessToken {
				t.Fatal(err)
			}
			if use(t.Context(), s, lost.AccessToken) != http.StatusUnauthorized || use(t.Context(), s, second.AccessToken) != http.StatusOK {
				t.Error("the server is not strict")
			}
			s.Down(true)
			if _, err := server.Refresh(t.Context(), code.Client, second.RefreshToken); err == nil || errors.Is(err, oauth.ErrEnded) {
				t.Error("down:", err)
			}
			s.Down(false)
			if err := server.Revoke(t.Context(), code.Client, second.RefreshToken); err != nil {
				t.Error(err)
			}
			if _, err := server.Refresh(t.Context(), code.Client, second.RefreshToken); !errors.Is(err, oauth.ErrEnded) {
				t.Error("revoked:", err)
			}
			if wrong := s.Refused(); wrong != nil {
				t.Error(wrong)
			}
		})
	}
}

func TestNoLogin(t *testing.T) {
	t.Parallel()
	s := serve(t, func(s *oauthserver.Server) { s.CodeLife = 2 * time.Second })
	_, code := begin(t, s)
	if _, err := code.Wait(t.Context()); !errors.Is(err, oauth.ErrExpired) {
		t.Error("expired:", err)
	}
	_, code = begin(t, s)
	s.Deny(code.Text)
	if _, err := code.Wait(t.Context()); !errors.Is(err, oauth.ErrDenied) {
		t.Error("denied:", err)
	}
	_, code = begin(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := code.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Error("cancelled:", err)
	}
	if wrong := s.Refused(); wrong != nil {
		t.Error(wrong)
	}
}

func TestDiscover(t *testing.T) {
	for said, want := range map[string]string{
		"": "offers no OAuth 2.0 login",
		`{"issuer":"https://a/","token_endpoint":"http://a/token"}`: "does not use https",
		`{}`:      "incomplete answer",
		`<html>`:  "incomplete answer",
		`refused`: "status 403",
	} {
		home := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			switch said {
			case "":
				w.WriteHeader(http.StatusNotFound)
			case "refused":
				w.WriteHeader(http.StatusForbidden)
			}
			_, _ = w.Write([]byte(said))
		}))
		t.Cleanup(oauth.Trust(home.Client().Transport))
		if _, err := oauth.Discover(t.Context(), home.URL); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", said, err, want)
		}
		home.Close()
	}
}
