package matrix

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

func TestClock(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, c := range []struct {
		server, ahead, now time.Duration // from this host's clock
	}{
		{0, 0, 0},
		{-5 * time.Minute, 0, 0},
		{-year, year, -year},
		{year, -year, 0},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", time.Now().Add(c.server).UTC().Format(http.TimeFormat))
			_, _ = w.Write([]byte(`{"joined_rooms":[]}`))
		}))
		a, err := New(Config{Homeserver: server.URL, User: "@bot:x", Log: zerolog.Nop()})
		if err != nil {
			t.Fatal(err)
		}
		near := func(got, want time.Duration) bool { return (got - want).Abs() < time.Minute }
		if a.Ahead() != 0 || !near(time.Until(a.Now()), 0) {
			t.Error("there is a difference before the first response")
		}
		if _, err := a.Rooms.IsIn(t.Context(), "!a:x"); err != nil {
			t.Fatal(err)
		}
		if got, now := a.Ahead(), time.Until(a.Now()); !near(got, c.ahead) || !near(now, c.now) {
			t.Errorf("the homeserver's clock is at %s: ahead %s, now %s", c.server, got, now)
		}
		server.Close()
	}
}
