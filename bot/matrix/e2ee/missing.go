package e2ee

import (
	"slices"

	"maunium.net/go/mautrix/id"
)

// maxMissing is the maximum number of missing keys that are remembered. KeyArrived is
// not called for any beyond that.
const maxMissing = 10_000

// noteKey records whether Decrypt lacks a key of a sender. If it does, the caller must look for the key again
// afterwards, because it may have arrived in between.
func (m *decrypter) noteKey(k Key, sender id.UserID, lacks bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !lacks {
		delete(m.missing, k)
	} else if len(m.missing) < maxMissing {
		m.missing[k] = sender
	}
}

// arrived returns the missing keys that have come, or that an unknown device of one of these users, whose devices have
// changed, may have sent. They stay missing until Decrypt finds them: a key may only cover later messages. m.mu is
// held.
func (m *core) arrived(came map[Key]bool, changed []id.UserID) (keys []Key) {
	for k, sender := range m.missing {
		if came[k] || slices.Contains(changed, sender) {
			keys = append(keys, k)
		}
	}
	return keys
}
