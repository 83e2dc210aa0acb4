package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// slugMax bounds the readable part of a name, in bytes.
const slugMax = 40

// NameFor returns the name of a room's container: "sandbox-", a slug of the
// localpart of the room's ID, and eight hex digits of the SHA-256 of the whole ID.
func NameFor(room string) string { return "sandbox-" + slug(room) }

// slug returns the common part of the names of a room's container and volumes, in characters that podman allows.
func slug(room string) string {
	sum := sha256.Sum256([]byte(room))
	digits := hex.EncodeToString(sum[:4])
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
		return digits
	}
	return readable + "-" + digits
}
