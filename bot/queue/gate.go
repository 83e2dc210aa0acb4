package queue

import (
	"sync"
	"time"
)

// Gate lets waiters through each time that something has happened again, such
// as a sync that was committed.
type Gate struct {
	mu   *sync.Mutex
	next *chan struct{}
	at   *time.Time // of the last opening
}

// NewGate was never opened.
func NewGate() Gate {
	next := make(chan struct{})
	return Gate{mu: &sync.Mutex{}, next: &next, at: &time.Time{}}
}

// Open lets everybody through who waits now.
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

// Last is when it was opened last; zero when it never was.
func (g Gate) Last() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return *g.at
}
