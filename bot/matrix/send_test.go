package matrix

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"maunium.net/go/mautrix"

	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/state"
)

// A request for keys that the homeserver refuses is no verdict on the message, which is sent again later. Whether the
// account may be in the room is one.
func TestUnencrypted(t *testing.T) {
	refusal := func(status int, code string) error {
		return fmt.Errorf("claim keys: %w", mautrix.HTTPError{Response: &http.Response{StatusCode: status}, RespError: &mautrix.RespError{ErrCode: code}})
	}
	for name, c := range map[string]struct {
		err         error
		again       bool
		wantVerdict func(error) bool
	}{
		"a parameter":  {refusal(400, "M_INVALID_PARAM"), true, nil},
		"its JSON":     {refusal(400, "M_BAD_JSON"), true, nil},
		"its size":     {refusal(413, "M_TOO_LARGE"), true, nil},
		"an outage":    {refusal(502, ""), true, nil},
		"no right":     {refusal(403, "M_FORBIDDEN"), false, IsForbidden},
		"no algorithm": {e2ee.ErrAlgorithm, false, nil},
	} {
		err := unencrypted(c.err)
		if IsNotEncrypted(err) != c.again || IsRejected(err) || c.wantVerdict != nil && !c.wantVerdict(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !IsRejected(refusal(413, "M_TOO_LARGE")) {
		t.Error("a message that is too large is not rejected")
	}
}

// A message whose session ends after its encryption is not sent in the next session, which has other keys.
func TestSendsInOneSession(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/state/m.room.encryption/"): // is asked while the machine is used
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"errcode":"M_NOT_FOUND"}`))
		case r.Header.Get("Authorization") != "Bearer one":
			t.Errorf("%s with %s", r.URL.Path, r.Header.Get("Authorization"))
			fallthrough
		default:
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"errcode":"M_UNKNOWN_TOKEN"}`))
		}
	}))
	defer server.Close()
	a, err := New(Config{Homeserver: server.URL, User: "@bot:here", StateDir: t.TempDir(), Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.openCrypt(t.Context(), session{UserID: "@bot:here", AccessToken: "one"}); err != nil {
		t.Fatal(err)
	}
	a.client.Client.Transport = lateToken{a, a.client.Client.Transport}
	if _, err := a.Messages.Send(t.Context(), state.Message{Room: "!r:here", Txn: "txn", Notice: true, Body: "hello"}); !IsUnknownToken(err) {
		t.Error(err)
	}
}

// lateToken makes another session the current one when a message is sent.
type lateToken struct {
	a    *Account
	next http.RoundTripper
}

func (l lateToken) RoundTrip(req *http.Request) (*http.Response, error) {
	if strings.Contains(req.URL.Path, "/send/") {
		l.a.bearer.set(session{AccessToken: "two"})
	}
	return l.next.RoundTrip(req)
}
