package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// guard holds the hash of the token: comparing hashes takes the same time for any input, whatever its length.
type guard struct {
	token [sha256.Size]byte
	none  bool // no token is set: all requests are refused
}

func newGuard(token string) guard {
	return guard{token: sha256.Sum256([]byte(token)), none: token == ""}
}

// opens reports whether a request has the token, as a single Authorization header with
// the scheme Bearer (RFC 6750, section 2.1).
func (g guard) opens(r *http.Request) bool {
	headers := r.Header.Values("Authorization")
	if len(headers) != 1 {
		return false
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	got := sha256.Sum256([]byte(strings.TrimLeft(token, " ")))
	same := subtle.ConstantTimeCompare(got[:], g.token[:]) == 1
	return same && strings.EqualFold(scheme, "Bearer") && !g.none
}
