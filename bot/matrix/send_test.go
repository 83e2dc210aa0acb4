package matrix

import (
	"fmt"
	"net/http"
	"testing"

	"maunium.net/go/mautrix"

	"matrix-tui/bot/matrix/e2ee"
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
