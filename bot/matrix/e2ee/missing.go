package e2ee

import (
	"slices"
	"sync"

	"maunium.net/go/mautrix/id"
)

// maxMissing is the maximum number of missing keys that are remembered. KeyArrived is
// not called for any beyond that.
const maxMissing = 10_000

// missing holds the keys that Decrypt did not find.
type missing struct {
	mu     sync.Mutex
	wanted map[Key]id.UserID // with the sender of the events
}

// want records a missing key. The caller must check for the key again afterwards,
// because it may have arrived in between.
func (w *missing) want(k Key, sender id.UserID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.wanted) < maxMissing {
		w.wanted[k] = sender
	}
}

// got records that a key is no longer missing.
func (w *missing) got(k Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.wanted, k)
}

// among returns the wanted keys that have arrived, or that an unknown device of one of these users, whose devices have
// changed, may have sent. They stay wanted until Decrypt finds them: an arrived key may only cover later messages.
func (w *missing) among(came map[Key]bool, changed []id.UserID) (keys []Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k, sender := range w.wanted {
		if came[k] || slices.Contains(changed, sender) {
			keys = append(keys, k)
		}
	}
	return keys
}
