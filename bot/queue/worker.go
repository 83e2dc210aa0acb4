// Package queue holds the small tools with which the bot's goroutines wait for
// work and for each other: a [Worker] processes what the journal holds, a [Gate]
// lets waiters through when the next of something happens, and [Newest] keeps only
// the newest of what can be sent later. It knows nothing about rooms and stores
// nothing.
package queue

import "sync"

// Worker runs a goroutine only while there is work: Wake starts it, or makes it
// look once more before it ends. The queue itself is in the journal, so a worker
// holds nothing that could be lost.
type Worker struct {
	Start func(func()) bool
	Work  func() // does all there is, then returns

	mu           sync.Mutex
	alive, again bool
}

// Wake has the worker look for work.
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
