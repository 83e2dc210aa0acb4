package admit

import (
	"sync"
	"time"

	"matrix-tui/bot/matrix/e2ee"
)

// keyring holds the room keys that this process has requested and the senders that it
// has warned about.
type keyring struct {
	mu     sync.Mutex
	asked  map[e2ee.Key]bool
	warned map[warning]time.Time
}

// Ask records that a key is being requested; it returns false if it was before.
func (k *keyring) Ask(key e2ee.Key) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.asked[key] {
		return false
	}
	if k.asked == nil {
		k.asked = map[e2ee.Key]bool{}
	}
	k.asked[key] = true
	return true
}

// Forget allows a key to be requested again.
func (k *keyring) Forget(key e2ee.Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.asked, key)
}

// Keep forgets all keys except those that events still wait for.
func (k *keyring) Keep(waiting map[e2ee.Key]bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key := range k.asked {
		if !waiting[key] {
			delete(k.asked, key)
		}
	}
}

const (
	warnPause = 24 * time.Hour // between two warnings about the same sender in a room
	maxWarned = 10_000         // warnings that are remembered
)

// warning identifies a sender that a room was warned about.
type warning struct{ Room, Sender string }

// Warn reports whether to send a warning now, and records it.
func (k *keyring) Warn(of warning, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now.Sub(k.warned[of]) < warnPause {
		return false
	}
	if k.warned == nil || len(k.warned) >= maxWarned {
		k.warned = map[warning]time.Time{}
	}
	k.warned[of] = now
	return true
}

// ForgetWarning forgets a warning that could not be sent.
func (k *keyring) ForgetWarning(of warning) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.warned, of)
}
