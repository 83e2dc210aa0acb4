package queue

import (
	"maps"
	"sync"
)

// Newest holds the newest value of each key until somebody takes it out; at any
// time at most one goroutine does.
type Newest struct {
	mu     sync.Mutex
	values map[string]string
	busy   bool // somebody takes them out
}

// Add replaces values, and tells whether the caller has to have them taken out.
func (n *Newest) Add(values map[string]string) (begin bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.values == nil {
		n.values = map[string]string{}
	}
	maps.Copy(n.values, values)
	begin = !n.busy && len(n.values) > 0
	n.busy = n.busy || begin
	return begin
}

// Next takes one out and tells how many there were; without any, it is over.
func (n *Newest) Next() (key, value string, all int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	all = len(n.values)
	for key, value = range n.values {
		delete(n.values, key)
		return key, value, all
	}
	n.busy = false
	return "", "", 0
}
