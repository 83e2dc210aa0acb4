// Package queue contains small tools with which the bot's goroutines wait for work and for each other: a [Worker]
// processes the journal's entries, a [Gate] releases waiters at the next occurrence of an event, and [Newest] keeps
// only the newest of several values to send. It knows nothing about rooms and stores nothing.
package queue

import "sync"

// Worker runs a goroutine only while there is work: Wake starts it, or makes it check again before it ends. The queue
// itself is in the journal, so a worker has nothing to lose.
type Worker struct {
	Start func(func()) bool
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
	l.alive = l.Start(l.run)
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
