// Package queue has the ways in which goroutines of the bot wait for each other: a
// lane works off what a journal holds, a gate lets through who waits for the next
// of something, and of what is sent at leisure the newest is kept. It knows nothing of rooms, and stores nothing.
package queue

import (
	"sync"
)

// Lane is a worker whose goroutine lives only while there is work: Wake starts
// it, or has it look once more before it ends. The queue itself is the
// journal's, so a lane holds nothing that could be lost.
type Lane struct {
	Start func(func()) bool
	Work  func() // does all there is, then returns

	mu           sync.Mutex
	alive, again bool
}

// Wake has the lane look for work.
func (l *Lane) Wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.alive {
		l.again = true
		return
	}
	l.alive = l.Start(l.run)
}

func (l *Lane) run() {
	for {
		l.Work()
		l.mu.Lock()
		if !l.again {
			l.alive = false
			l.mu.Unlock()
			return
		}
		l.again = false
		l.mu.Unlock()
	}
}
