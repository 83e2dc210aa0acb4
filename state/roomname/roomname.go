// Package roomname derives names of containers, volumes and files from the IDs of rooms.
package roomname

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// slugMax bounds the readable part of a name, in bytes.
const slugMax = 40

// shortDigits is how much of the hash Short has. A homeserver can find another room's ID with the same ones within
// minutes: whoever uses such a name asks whose it is.
const shortDigits = 8

// Short returns a slug of the localpart of the room's ID, and eight hex digits of the SHA-256 of the whole ID, in
// characters that podman allows. Rooms may share it.
func Short(room string) string { return with(room, shortDigits) }

// Whole is Short with all digits: no two rooms share it.
func Whole(room string) string { return with(room, 2*sha256.Size) }

func with(room string, digits int) string {
	sum := sha256.Sum256([]byte(room))
	hash := hex.EncodeToString(sum[:])[:digits]
	local, _, _ := strings.Cut(strings.TrimPrefix(room, "!"), ":")
	var out strings.Builder
	for _, r := range local {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			out.WriteRune(r)
		case out.Len() > 0 && !strings.HasSuffix(out.String(), "-"):
			out.WriteByte('-')
		}
		if out.Len() >= slugMax {
			break
		}
	}
	readable := strings.TrimRight(out.String(), "-")
	if readable == "" {
		return hash
	}
	return readable + "-" + hash
}
