package matrix

import (
	"errors"
	"net/http"
	"time"

	"maunium.net/go/mautrix"
)

// Transient tells an answer that may be another one later from a refusal.
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

// Ambiguous tells a request without an answer: it may have been done.
func Ambiguous(err error) bool {
	var answer mautrix.HTTPError
	return errors.As(err, &answer) && (answer.Response == nil || answer.Response.StatusCode >= 500)
}

// RetryAfter is how long the homeserver asks us to wait, at most five minutes,
// or the default.
func RetryAfter(err error, otherwise time.Duration) time.Duration {
	var resp mautrix.RespError
	if errors.As(err, &resp) && resp.ErrCode == mautrix.MLimitExceeded.ErrCode {
		if ms, ok := resp.ExtraData["retry_after_ms"].(float64); ok && ms > 0 {
			return min(time.Duration(ms)*time.Millisecond, 5*time.Minute)
		}
	}
	return otherwise
}

// IsAnswer tells an error that came by HTTP, as an answer or for want of one.
func IsAnswer(err error) bool { return errors.As(err, new(mautrix.HTTPError)) }

// IsTooLarge tells that the homeserver does not take so much.
func IsTooLarge(err error) bool { return errors.Is(err, mautrix.MTooLarge) }

// IsForbidden tells that the account may not do that.
func IsForbidden(err error) bool { return errors.Is(err, mautrix.MForbidden) }

// IsNotFound tells that there is no such thing.
func IsNotFound(err error) bool { return errors.Is(err, mautrix.MNotFound) }

// IsUnknownToken tells that the session was ended.
func IsUnknownToken(err error) bool { return errors.Is(err, mautrix.MUnknownToken) }

// IsGone tells that a file is no longer there, whoever says so.
func IsGone(err error) bool {
	var answer mautrix.HTTPError
	return IsNotFound(err) || errors.As(err, &answer) && (answer.IsStatus(http.StatusNotFound) || answer.IsStatus(http.StatusGone))
}
