// Package queue contains small tools with which the bot's goroutines wait for work and for each other: a [Group] is
// all of them, a [Worker] processes the journal's entries, and a [Gate] releases waiters at the next occurrence of an
// event. It knows nothing about rooms and stores nothing.
package queue

import "sync"

// Worker runs a goroutine only while there is work: Wake starts it, or makes it check again before it ends. The queue
// itself is in the journal, so a worker has nothing to lose.
type Worker struct {
	Group *Group // in which it runs; while that is not open, it does nothing
	Work  func() // does all work there is, then returns

	mu           sync.Mutex
	alive, again bool
}

// Wake makes the worker look for work.
func (l *Worker) Wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.alive {
		l.again = true
		return
	}
	l.alive = l.Group.Open.Load() && l.Group.Spawn(l.run)
}

func (l *Worker) run() {
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
