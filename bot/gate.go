package bot

import "sync"

// gate lets waiters through each time that something has happened again, such
// as a sync that was committed.
type gate struct {
	mu   *sync.Mutex
	next *chan struct{}
}

func newGate() gate {
	next := make(chan struct{})
	return gate{mu: &sync.Mutex{}, next: &next}
}

// open lets everybody through who waits now.
func (g gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(*g.next)
	*g.next = make(chan struct{})
}

// coming returns a channel that is closed at the next opening.
func (g gate) coming() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return *g.next
}
