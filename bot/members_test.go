package bot

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"maunium.net/go/mautrix"
)

// A join is tried again while that makes sense: after a refusal for ten minutes, without an answer for a day.
func TestMayJoinLater(t *testing.T) {
	refused := mautrix.HTTPError{
		Response:  &http.Response{StatusCode: http.StatusForbidden},
		RespError: &mautrix.RespError{ErrCode: "M_FORBIDDEN", StatusCode: http.StatusForbidden},
	}
	silent := mautrix.HTTPError{WrappedError: errors.New("connection refused")}
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
	for _, c := range []struct {
		name         string
		err          error
		invited      time.Time
		firstRefused time.Time
		want         bool
	}{
		{"first refusal", refused, ago(0), time.Time{}, true},
		{"first refusal of an old invitation", refused, ago(48 * time.Hour), time.Time{}, true},
		{"refused for a while", refused, ago(0), ago(9 * time.Minute), true},
		{"refused for good", refused, ago(0), ago(11 * time.Minute), false},
		{"no answer", silent, ago(23 * time.Hour), time.Time{}, true},
		{"no answer after a refusal", silent, ago(time.Hour), ago(time.Hour), true},
		{"no answer for a day", silent, ago(25 * time.Hour), time.Time{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &room{firstRefused: c.firstRefused}
			if got := r.mayJoinLater(c.err, c.invited); got != c.want {
				t.Errorf("mayJoinLater() = %t, want %t", got, c.want)
			}
		})
	}
}
