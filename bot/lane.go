package bot

import (
	"sync"
)

// lane is a worker whose goroutine lives only while there is work: wake starts
// it, or has it look once more before it ends. The queue itself is the
// journal's, so a lane holds nothing that could be lost.
type lane struct {
	start func(func()) bool
	work  func() // does all there is, then returns

	mu           sync.Mutex
	alive, again bool
}

func (l *lane) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.alive {
		l.again = true
		return
	}
	l.alive = l.start(l.run)
}

func (l *lane) run() {
	for {
		l.work()
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
