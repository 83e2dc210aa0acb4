package policy

import (
	"crypto/rand"
	"crypto/subtle"
	"strings"
)

// A pairing code has codeLength letters of an alphabet without letters that look alike: 40 bits.
const (
	alphabet   = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
	codeLength = 8
)

// newCode returns a random code. All letters are equally likely, because 256 is a
// multiple of the alphabet's length.
func newCode() string {
	var b [codeLength]byte
	_, _ = rand.Read(b[:]) // never fails
	for i := range b {
		b[i] = alphabet[int(b[i])%len(alphabet)]
	}
	return string(b[:])
}

// tidyCode normalises a code as people type it: lower case, in groups.
func tidyCode(code string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '-' || r == '`' {
			return -1
		}
		return r
	}, strings.ToUpper(code))
}

// sameCode compares in constant time.
func sameCode(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
