package alert

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/state"
)

// A room that cannot get an alert, or goes on refusing it, does not keep it from other rooms. One refusal proves nothing.
func TestRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		err    error  // of the encryption, or
		answer string // of the homeserver
		since  time.Duration
		want   bool
	}{
		{"sent", nil, "", time.Hour, false},
		{"no device", fmt.Errorf("encrypt: %w", e2ee.ErrNoDevice), "", 0, true},
		{"an unknown encryption", e2ee.ErrAlgorithm, "", 0, true},
		{"refused once", nil, "403 M_FORBIDDEN", 0, false},
		{"refused for long", nil, "403 M_FORBIDDEN", time.Hour, true},
		{"refused for another reason", nil, "400 M_UNKNOWN", time.Hour, true},
		{"rejected", nil, "413 M_TOO_LARGE", 0, true},
		{"no answer", nil, "502 ", time.Hour, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPut && c.answer != "" {
					status, code, _ := strings.Cut(c.answer, " ")
					var number int
					_, _ = fmt.Sscan(status, &number)
					w.WriteHeader(number)
					_, _ = fmt.Fprintf(w, `{"errcode":%q,"error":"no"}`, code)
					return
				}
				_, _ = io.WriteString(w, `{"joined_rooms":["!den:here"]}`)
			}))
			defer server.Close()
			account, err := matrix.New(matrix.Config{Homeserver: server.URL, User: "@bot:here", StateDir: t.TempDir(), Log: zerolog.Nop()})
			if err != nil {
				t.Fatal(err)
			}
			defer account.Close()
			w := New(Config{Account: account, Log: zerolog.Nop()})
			w.refused = matrix.Refusals{}
			if c.since > 0 {
				w.refused["!den:here"] = time.Now().Add(-c.since)
			}
			err = c.err
			if c.answer != "" {
				_, err = account.Messages.SendClear(t.Context(), state.Message{Room: "!den:here", Kind: state.KindAlert, Body: "low"})
			}
			if got := w.refuses(t.Context(), "!den:here", err); got != c.want {
				t.Errorf("it refuses alerts: %v, after %v", got, err)
			}
			if err == nil && len(w.refused) > 0 {
				t.Error("it counts an earlier refusal after a success")
			}
		})
	}
}
