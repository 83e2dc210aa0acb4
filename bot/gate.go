package bot

import (
	"sync"
	"time"
)

// gate lets waiters through each time that something has happened again, such
// as a sync that was committed.
type gate struct {
	mu   *sync.Mutex
	next *chan struct{}
	at   *time.Time // of the last opening
}

func newGate() gate {
	next := make(chan struct{})
	return gate{mu: &sync.Mutex{}, next: &next, at: &time.Time{}}
}

// open lets everybody through who waits now.
func (g gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	*g.at = time.Now()
	close(*g.next)
	*g.next = make(chan struct{})
}

// coming returns a channel that is closed at the next opening.
func (g gate) coming() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return *g.next
}

// last is when it was opened last; zero when it never was.
func (g gate) last() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return *g.at
}
