package queue

import (
	"sync"
	"time"
)

// Gate releases its waiters each time something has happened, such as a committed sync.
type Gate struct {
	mu   *sync.Mutex
	next *chan struct{}
	at   *time.Time // of the last opening
}

// NewGate returns a gate that has never been opened.
func NewGate() Gate {
	next := make(chan struct{})
	return Gate{mu: &sync.Mutex{}, next: &next, at: &time.Time{}}
}

// Open releases everyone who is waiting now.
func (g Gate) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	*g.at = time.Now()
	close(*g.next)
	*g.next = make(chan struct{})
}

// Coming returns a channel that is closed at the next opening.
func (g Gate) Coming() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return *g.next
}

// Last returns the time of the last opening; zero if there was none.
func (g Gate) Last() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return *g.at
}
