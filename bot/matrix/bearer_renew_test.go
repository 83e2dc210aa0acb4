package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot/bottest/oauthserver"
	"matrix-tui/bot/matrix/oauth"
)

func TestRenewedToken(t *testing.T) {
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_ = json.NewEncoder(w).Encode(map[string]string{"access_token": "behind", "user_id": "@bot:here", "device_id": "DEVICE", "event_id": "$e", "body": string(body)})
	}))
	defer behind.Close()
	server, err := oauthserver.New(behind.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	cfg := Config{Homeserver: server.URL(), User: "bot", StateDir: t.TempDir(), Log: zerolog.Nop()}
	if _, _, err := LogInWithCode(t.Context(), cfg, func(c *oauth.Code) {
		if err := server.Confirm(t.Context(), c.Text, "bot", "word"); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	a.become(a.stored.load())
	send := func(ctx context.Context, body io.Reader) (status int, answer string) {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx, http.MethodPut, server.URL()+"/_matrix/client/v3/rooms/x/send/y/z", body)
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		resp, err := a.client.Client.Do(req)
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Error(err)
		}
		return resp.StatusCode, string(data)
	}
	together := func() {
		t.Helper()
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if status, answer := send(t.Context(), strings.NewReader("hello")); status != http.StatusOK || !strings.Contains(answer, "hello") {
					t.Error(status, answer)
				}
			})
		}
		all.Wait()
	}
	refreshed := func(want int) {
		t.Helper()
		if got := server.Refreshed(); got != want {
			t.Errorf("%d refreshes, want %d", got, want)
		}
	}
	change := func(change func(*session)) {
		t.Helper()
		s := a.stored.load()
		change(&s)
		if err := a.stored.save(s); err != nil {
			t.Fatal(err)
		}
	}

	together()
	refreshed(0)
	a.stored.due.Store(1) // long ago
	together()
	refreshed(1)
	if info, err := os.Stat(a.stored.file()); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	server.Expire()
	together()
	refreshed(2)
	server.Expire()
	pinned := a.bearer.get()
	if status, _ := send(t.Context(), io.NopCloser(strings.NewReader("once"))); status != http.StatusUnauthorized {
		t.Error("a body that cannot be sent again was sent again:", status)
	}
	together()
	refreshed(3)
	if status, answer := send(withSession(t.Context(), pinned), strings.NewReader("late")); status != http.StatusOK || !strings.Contains(answer, "late") {
		t.Error("what began before a renewal:", status, answer)
	}
	refreshed(3)

	change(func(s *session) { s.AccessToken, s.OAuth.Expires = "stored by somebody else, but expired", time.Now() })
	if s, err := a.stored.renew(t.Context(), "older"); err != nil || s.AccessToken == "stored by somebody else, but expired" {
		t.Error("an expired token counts as new:", err)
	}
	a.bearer.set(a.stored.load())
	refreshed(4)

	server.WantOwner() // a 401 that says nothing about the token
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL()+"/_matrix/client/v3/keys/device_signing/upload", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := a.client.Client.Do(req)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
	refreshed(4)

	server.Expire()
	was := a.bearer.get()
	change(func(s *session) { s.DeviceID, s.AccessToken = "OTHER", "other" })
	if status, _ := send(t.Context(), http.NoBody); status != http.StatusUnauthorized || a.bearer.get() != was {
		t.Error("the token of another device was used:", status)
	}
	change(func(s *session) {
		s.DeviceID, s.AccessToken, s.OAuth.Issuer = was.DeviceID, was.AccessToken, "https://elsewhere/"
	})
	if _, err := a.stored.renew(t.Context(), was.AccessToken); !Transient(err) || !strings.Contains(err.Error(), "another OAuth 2.0 server now") {
		t.Error("another server:", err)
	}
	change(func(s *session) { s.OAuth.Issuer = was.OAuth.Issuer })
	a.stored.pause = time.Time{}
	refreshed(4)

	server.EndAll()
	for range 3 {
		if status, answer := send(t.Context(), http.NoBody); status != http.StatusUnauthorized || !strings.Contains(answer, "M_UNKNOWN_TOKEN") {
			t.Error(status, answer)
		}
	}
	if _, err := a.stored.renew(t.Context(), was.AccessToken); !errors.Is(err, oauth.ErrEnded) || a.stored.load().OAuth.RefreshToken != "" {
		t.Error("ended:", err)
	}
	if asked := server.Asked(); asked != 1 {
		t.Errorf("the server was asked %d times after the end", asked)
	}
	if wrong := server.Refused(); wrong != nil {
		t.Error(wrong)
	}
}
