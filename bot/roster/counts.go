package roster

import "sync"

// Counts caches the number of members of rooms until a membership changes.
type Counts struct {
	mu      sync.Mutex
	members map[string]int // joined members by room, the bot included
	changes uint64
}

// Of returns the number of a room's members; ok is false if it is not known.
func (c *Counts) Of(room string) (members int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	members, ok = c.members[room]
	return members, ok
}

// Version returns a number that changes with each call of Forget.
func (c *Counts) Version() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes
}

// Learn stores a number that was requested when version was v. It does nothing if
// a membership has changed since.
func (c *Counts) Learn(room string, v uint64, members int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes != v {
		return
	}
	if c.members == nil {
		c.members = map[string]int{}
	}
	c.members[room] = members
}

// Forget drops the number of a room in which a membership changed.
func (c *Counts) Forget(room string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	delete(c.members, room)
}
