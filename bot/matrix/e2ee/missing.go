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
	came   []Key             // arrived in the sync that is being processed
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

// begin forgets arrived keys of a transaction that was rolled back.
func (w *missing) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.came = nil
}

// arrived records a key that is being stored.
func (w *missing) arrived(k Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.came) < maxMissing {
		w.came = append(w.came, k)
	}
}

// changed records that the devices of users have changed: keys from an unknown device
// of theirs may now be proven.
func (w *missing) changed(users []id.UserID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k, sender := range w.wanted {
		if slices.Contains(users, sender) {
			w.came = append(w.came, k)
		}
	}
}

// take returns the wanted keys that arrived, each once. They stay wanted until Decrypt
// finds them, because an arrived key may only cover later messages.
func (w *missing) take() (keys []Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	told := map[Key]bool{}
	for _, k := range w.came {
		if _, ok := w.wanted[k]; ok && !told[k] {
			told[k] = true
			keys = append(keys, k)
		}
	}
	w.came = nil
	return keys
}
