package e2ee

import (
	"slices"
	"sync"

	"maunium.net/go/mautrix/id"
)

// maxMissing bounds the keys that are waited for; what is over it is not told
// of when it comes.
const maxMissing = 10_000

// missing are the keys that Decrypt did not find.
type missing struct {
	mu     sync.Mutex
	wanted map[Key]id.UserID // and who wrote what it opens
	came   []Key             // within the sync that is being taken
}

// want notes a key that is not there. Who does so looks once more afterwards:
// the key may have come in between.
func (w *missing) want(k Key, sender id.UserID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.wanted) < maxMissing {
		w.wanted[k] = sender
	}
}

// got notes that the key is there after all.
func (w *missing) got(k Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.wanted, k)
}

// begin forgets keys of a transaction that was not committed.
func (w *missing) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.came = nil
}

// arrived notes a key that is being stored.
func (w *missing) arrived(k Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.came) < maxMissing {
		w.came = append(w.came, k)
	}
}

// changed notes that users have other devices now: a key of theirs that is of no
// device may be of one.
func (w *missing) changed(users []id.UserID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k, sender := range w.wanted {
		if slices.Contains(users, sender) {
			w.came = append(w.came, k)
		}
	}
}

// take returns those that came and were wanted, each once. They stay wanted
// until Decrypt finds them: a key may begin too late.
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
