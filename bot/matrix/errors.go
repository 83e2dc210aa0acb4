package matrix

import (
	"errors"
	"net/http"
	"time"

	"maunium.net/go/mautrix"
)

// Transient reports whether a request failed for a reason that may go away: no
// answer, a rate limit or a server error.
func Transient(err error) bool {
	var answer mautrix.HTTPError
	if !errors.As(err, &answer) {
		return false
	}
	if answer.Response == nil {
		return true
	}
	code := answer.Response.StatusCode
	return code == http.StatusTooManyRequests || code >= 500
}

// Ambiguous reports whether a failed request may have been carried out.
func Ambiguous(err error) bool {
	var answer mautrix.HTTPError
	return errors.As(err, &answer) && (answer.Response == nil || answer.Response.StatusCode >= 500)
}

// RetryAfter returns how long the homeserver asks us to wait, at most five minutes,
// or else otherwise.
func RetryAfter(err error, otherwise time.Duration) time.Duration {
	var resp mautrix.RespError
	if errors.As(err, &resp) && resp.ErrCode == mautrix.MLimitExceeded.ErrCode {
		if ms, ok := resp.ExtraData["retry_after_ms"].(float64); ok && ms > 0 {
			return min(time.Duration(ms)*time.Millisecond, 5*time.Minute)
		}
	}
	return otherwise
}

// IsAnswer reports whether an error comes from an HTTP request, answered or not.
func IsAnswer(err error) bool { return errors.As(err, new(mautrix.HTTPError)) }

// IsTooLarge reports whether the homeserver rejected a request as too large.
func IsTooLarge(err error) bool { return errors.Is(err, mautrix.MTooLarge) }

// IsForbidden reports whether the account lacks permission.
func IsForbidden(err error) bool { return errors.Is(err, mautrix.MForbidden) }

// IsNotFound reports whether the homeserver did not find what was requested.
func IsNotFound(err error) bool { return errors.Is(err, mautrix.MNotFound) }

// IsUnknownToken reports whether the access token is not valid any more.
func IsUnknownToken(err error) bool { return errors.Is(err, mautrix.MUnknownToken) }

// IsGone reports whether a file no longer exists, even if a proxy says so.
func IsGone(err error) bool {
	var answer mautrix.HTTPError
	return IsNotFound(err) || errors.As(err, &answer) && (answer.IsStatus(http.StatusNotFound) || answer.IsStatus(http.StatusGone))
}
