package queue

import (
	"maps"
	"sync"
)

// Newest holds the newest value of each key until it is taken; at most one goroutine takes values at any time.
type Newest struct {
	mu     sync.Mutex
	values map[string]string
	busy   bool // a goroutine is taking values
}

// Add replaces values, and reports whether the caller must start taking them.
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

// Next takes one value and returns how many there were. Without any, it returns all = 0 and the caller must stop.
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
