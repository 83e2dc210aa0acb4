package matrix

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"maunium.net/go/mautrix"

	"matrix-tui/bot/matrix/e2ee"
)

func TestRetryAfter(t *testing.T) {
	limited := mautrix.RespError{ErrCode: "M_LIMIT_EXCEEDED", ExtraData: map[string]any{"retry_after_ms": 1500.0}}
	if got := RetryAfter(limited, 9); got.Milliseconds() != 1500 {
		t.Errorf("RetryAfter = %v", got)
	}
	if got := RetryAfter(limited, 24*time.Second); got != 3*time.Second { // it has said so again and again
		t.Errorf("RetryAfter = %v", got)
	}
	if got := RetryAfter(mautrix.MForbidden, 9); got != 9 {
		t.Errorf("RetryAfter = %v", got)
	}
}

// An answer without a Matrix error code comes from a proxy, and says nothing about the
// message.
func TestTransient(t *testing.T) {
	answer := func(status int, code string) error {
		err := mautrix.HTTPError{Response: &http.Response{StatusCode: status}}
		if code != "" {
			err.RespError = &mautrix.RespError{ErrCode: code}
		}
		return fmt.Errorf("send: %w", err)
	}
	for _, c := range []struct {
		err                 error
		transient, rejected bool
	}{
		{answer(404, ""), true, false}, {answer(413, ""), true, false}, {answer(403, ""), true, false}, {answer(200, ""), true, false},
		{answer(408, ""), true, false}, {answer(408, "M_UNKNOWN"), true, false}, {answer(502, ""), true, false}, {answer(500, "M_UNKNOWN"), true, false},
		{answer(429, "M_LIMIT_EXCEEDED"), true, false}, {answer(403, "M_RESOURCE_LIMIT_EXCEEDED"), true, false}, {answer(401, "M_USER_LOCKED"), true, false}, {answer(404, "M_UNRECOGNIZED"), true, false},
		{mautrix.HTTPError{}, true, false},
		{answer(413, "M_TOO_LARGE"), false, true}, {answer(400, "M_BAD_JSON"), false, true}, {answer(400, "M_NOT_JSON"), false, true}, {answer(400, "M_INVALID_PARAM"), false, true},
		{answer(403, "M_FORBIDDEN"), false, false}, {answer(404, "M_NOT_FOUND"), false, false}, {answer(400, "M_UNKNOWN"), false, false}, {answer(401, "M_UNKNOWN_TOKEN"), false, false},
		{errors.New("no answer of a homeserver"), false, false},
	} {
		if got := Transient(c.err); got != c.transient {
			t.Errorf("%v is transient: %v", c.err, got)
		}
		if got := IsRejected(c.err); got != c.rejected {
			t.Errorf("%v is a rejection: %v", c.err, got)
		}
	}
	if !Temporary(answer(401, "M_UNKNOWN_TOKEN")) {
		t.Error("a request is not made again after the next login")
	}
	if forbidden := answer(403, "M_FORBIDDEN"); !signable(forbidden) || !signable(answer(502, "")) || signable(nil) || signable(fmt.Errorf("%w: %w", e2ee.ErrPassword, forbidden)) {
		t.Error("the device is signed later although that needs a password, or never although it was only refused once")
	}
	for _, c := range []struct {
		err      error
		rejected bool // the token
	}{
		{answer(400, "M_INVALID_PARAM"), true}, {answer(400, "M_UNKNOWN"), true}, {answer(404, "M_UNKNOWN_POS"), true},
		{answer(400, ""), false}, {answer(400, "M_LIMIT_EXCEEDED"), false}, {answer(401, "M_UNKNOWN_TOKEN"), false}, {answer(404, "M_NOT_FOUND"), false},
		{answer(500, "M_UNKNOWN"), false}, {mautrix.HTTPError{}, false}, {nil, false},
	} {
		if got := IsTokenRejected(c.err); got != c.rejected {
			t.Errorf("%v rejects the token: %v", c.err, got)
		}
	}
}
