package queue

import (
	"sync"
	"time"
)

// Gate releases its waiters each time something has happened, such as a committed sync. The zero value has never been
// opened.
type Gate struct {
	mu   sync.Mutex
	next chan struct{} // nil if nobody waits
	at   time.Time     // of the last opening
}

// Open releases everyone who is waiting now.
func (g *Gate) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.at = time.Now()
	if g.next != nil {
		close(g.next)
		g.next = nil
	}
}

// Coming returns a channel that is closed at the next opening.
func (g *Gate) Coming() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next == nil {
		g.next = make(chan struct{})
	}
	return g.next
}

// Last returns the time of the last opening; zero if there was none.
func (g *Gate) Last() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.at
}
