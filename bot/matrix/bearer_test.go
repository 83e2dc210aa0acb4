package matrix

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"
)

// The session ends while a message is sent, and the bot logs in again: requests have the
// token of the old session or the new one. The race detector watches.
func TestLoginBesideRequests(t *testing.T) {
	var valid atomic.Value
	valid.Store("one")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		switch {
		case strings.HasSuffix(r.URL.Path, "/login"):
			valid.Store("two")
			_, _ = w.Write([]byte(`{"user_id":"@bot:here","device_id":"D","access_token":"two"}`))
		case token == "":
			t.Errorf("%s without a token", r.URL.Path)
		case token != valid.Load():
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"errcode":"M_UNKNOWN_TOKEN"}`))
		case strings.HasSuffix(r.URL.Path, "/whoami"):
			_, _ = w.Write([]byte(`{"user_id":"@bot:here","device_id":"D"}`))
		default:
			_, _ = w.Write([]byte(`{"event_id":"$e"}`))
		}
	}))
	defer server.Close()
	a, err := New(Config{Homeserver: server.URL, User: "@bot:here", Password: "secret", StateDir: t.TempDir(), Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	a.bearer.set("one")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := a.SendClear(t.Context(), "!r:here", "m.room.message", "txn", map[string]string{}); err != nil && !Temporary(err) {
				t.Error(err)
			}
		}
	}()
	for _, stored := range []string{"one", "zero", "two"} {
		s, err := a.tryLogin(t.Context(), session{AccessToken: stored, DeviceID: "D"})
		if err != nil {
			t.Error(err)
		}
		a.become(s)
	}
	close(stop)
	<-done
	if got := a.bearer.get(); got != "two" {
		t.Errorf("the token is %q", got)
	}
}
