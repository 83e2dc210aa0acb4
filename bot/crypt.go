package bot

import "matrix-tui/bot/matrix/e2ee"

// An encrypted event becomes one of these where it cannot be read: not yet, and
// not at all.
const (
	encryptedType       = "m.room.encrypted"
	verificationRequest = "m.key.verification.request" // a message's msgtype

	typeSealed     = ownTypes + "sealed"
	typeUnreadable = ownTypes + "unreadable"
)

// crypt is what is known of encrypted rows.
type crypt struct {
	plain  plainRows
	sealed sealed
}

// keyCame wakes the rooms in which a key was missing.
func (b *Bot) keyCame(k e2ee.Key) {
	for _, name := range append(b.crypt.sealed.came(k), k.Room) {
		b.room(name).wake()
	}
}
