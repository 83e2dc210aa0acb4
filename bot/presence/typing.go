package presence

import (
	"slices"
	"sync/atomic"
	"time"
)

// typingTime is how long somebody types at most without a word from the homeserver, which tells when they stop.
const typingTime = time.Minute

// Typing is who types in a room, as far as the homeserver has told.
type Typing struct{ now atomic.Pointer[typing] }

type typing struct {
	users []string
	since time.Time
}

// Note stores who types now.
func (t *Typing) Note(users []string) { t.now.Store(&typing{users, time.Now()}) }

// Is reports whether a user types.
func (t *Typing) Is(user string) bool {
	now := t.now.Load()
	return now != nil && time.Since(now.since) < typingTime && slices.Contains(now.users, user)
}
