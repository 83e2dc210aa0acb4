// Package keyring remembers which room keys the bot has requested, and which rooms it
// has warned about senders that it does not trust. It sends nothing.
package keyring

import (
	"sync"
	"time"

	"matrix-tui/bot/matrix/e2ee"
)

// Keys holds the room keys that this process has requested and the senders that it
// has warned about.
type Keys struct {
	mu     sync.Mutex
	asked  map[e2ee.Key]bool
	warned map[Warning]time.Time
}

// Ask records that a key is being requested; it returns false if it was before.
func (k *Keys) Ask(key e2ee.Key) bool {
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
func (k *Keys) Forget(key e2ee.Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.asked, key)
}

// Keep forgets all keys except those that events still wait for.
func (k *Keys) Keep(waiting map[e2ee.Key]bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key := range k.asked {
		if !waiting[key] {
			delete(k.asked, key)
		}
	}
}

const (
	WarnPause = 24 * time.Hour // between two warnings about the same sender in a room
	maxWarned = 10_000         // warnings that are remembered
)

// Warning identifies a sender that a room was warned about.
type Warning struct{ Room, Sender string }

// Warn reports whether to send a warning now, and records it.
func (k *Keys) Warn(of Warning, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now.Sub(k.warned[of]) < WarnPause {
		return false
	}
	if k.warned == nil || len(k.warned) >= maxWarned {
		k.warned = map[Warning]time.Time{}
	}
	k.warned[of] = now
	return true
}

// ForgetWarning forgets a warning that could not be sent.
func (k *Keys) ForgetWarning(of Warning) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.warned, of)
}
