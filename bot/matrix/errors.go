package matrix

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"maunium.net/go/mautrix"
)

// passing are the error codes of a refusal that somebody can lift: a limit of the
// server's resources, a locked or suspended account, or a request that was routed to a
// server which does not know its endpoint. All that we need are in the specification.
var passing = []string{"M_UNRECOGNIZED", "M_LIMIT_EXCEEDED", "M_RESOURCE_LIMIT_EXCEEDED", "M_USER_LOCKED",
	"M_USER_SUSPENDED", "M_USER_LIMIT_EXCEEDED", "M_CONSENT_NOT_GIVEN"}

// rejections are the error codes that a message gets whenever it is sent again.
var rejections = []string{"M_TOO_LARGE", "M_BAD_JSON", "M_NOT_JSON", "M_INVALID_PARAM"}

// Transient reports an error that may go away: no answer, an overloaded or limited
// server, or an answer without a Matrix error code. The last comes from a proxy in
// front of the homeserver, whatever its status.
func Transient(err error) bool {
	if errors.Is(err, errIncomplete) || errors.Is(err, errNotRenewed) {
		return true
	}
	var answer mautrix.HTTPError
	if !errors.As(err, &answer) {
		return false
	}
	if answer.Response == nil {
		return true
	}
	code := answer.Response.StatusCode
	return code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code >= 500 ||
		errCode(err) == "" || slices.Contains(passing, errCode(err))
}

// Temporary reports an error after which the same request may succeed: a Transient one,
// or the end of the session, after which the bot logs in again.
func Temporary(err error) bool { return Transient(err) || IsUnknownToken(err) }

// IsRejected reports that the homeserver will never accept a message. What it says about keys is no such answer.
func IsRejected(err error) bool {
	return !IsNotEncrypted(err) && slices.Contains(rejections, errCode(err))
}

// IsUnspecified reports that the homeserver does not accept a message and has no error code for the reason.
func IsUnspecified(err error) bool {
	var answer mautrix.HTTPError
	return errors.As(err, &answer) && answer.IsStatus(http.StatusBadRequest) && errCode(err) == "M_UNKNOWN"
}

// IsTokenRejected reports that the homeserver does not accept the position in the
// timeline that a request named.
func IsTokenRejected(err error) bool {
	var answer mautrix.HTTPError
	return errCode(err) == "M_UNKNOWN_POS" || errors.As(err, &answer) && answer.IsStatus(http.StatusBadRequest) &&
		!Transient(err)
}

// errCode is the Matrix error code of an answer, "" for none.
func errCode(err error) string {
	var resp mautrix.RespError
	if errors.As(err, &resp) {
		return resp.ErrCode
	}
	return ""
}

// Ambiguous reports whether a failed request may have been carried out.
func Ambiguous(err error) bool {
	var answer mautrix.HTTPError
	return errors.As(err, &answer) && (answer.Response == nil || answer.Response.StatusCode >= 500)
}

// RetryAfter returns how long the homeserver asks us to wait, at most five minutes,
// or else otherwise, a pause that grows with each failure. A homeserver that keeps
// asking for less than an eighth of that gets the eighth.
func RetryAfter(err error, otherwise time.Duration) time.Duration {
	var resp mautrix.RespError
	if errors.As(err, &resp) && resp.ErrCode == mautrix.MLimitExceeded.ErrCode {
		if ms, ok := resp.ExtraData["retry_after_ms"].(float64); ok && ms > 0 {
			return max(min(time.Duration(ms)*time.Millisecond, 5*time.Minute), otherwise/8)
		}
	}
	return otherwise
}

// IsAnswer reports whether an error comes from an HTTP request, answered or not.
func IsAnswer(err error) bool { return errors.As(err, new(mautrix.HTTPError)) }

// IsTooLarge reports that the homeserver rejects a message or a file because of its
// size.
func IsTooLarge(err error) bool { return errors.Is(err, mautrix.MTooLarge) }

// IsFileTooLarge is IsTooLarge for a file, where a proxy may be what rejects it.
func IsFileTooLarge(err error) bool {
	var answer mautrix.HTTPError
	return IsTooLarge(err) || errors.As(err, &answer) && answer.IsStatus(http.StatusRequestEntityTooLarge)
}

// IsForbidden reports whether the account lacks permission.
func IsForbidden(err error) bool { return errors.Is(err, mautrix.MForbidden) }

// IsNotFound reports whether the homeserver did not find what was requested.
func IsNotFound(err error) bool { return errors.Is(err, mautrix.MNotFound) }

// IsUnknownToken reports whether the access token is not valid any more.
func IsUnknownToken(err error) bool { return errors.Is(err, mautrix.MUnknownToken) }

// IsGone reports whether a file no longer exists, even if a proxy says so.
func IsGone(err error) bool {
	var answer mautrix.HTTPError
	return IsNotFound(err) || errors.As(err, &answer) && (answer.IsStatus(http.StatusNotFound) ||
		answer.IsStatus(http.StatusGone))
}
