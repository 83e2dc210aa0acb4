package roster

import (
	"context"
	"sync"

	"matrix-tui/bot/matrix"
)

// Cache keeps what the homeserver has said about rooms until that changes.
type Cache[T any] struct {
	mu      sync.Mutex
	known   map[string]T      // by room
	changes map[string]uint64 // by room
}

// Of returns what is known about a room; ok is false if that is nothing.
func (c *Cache[T]) Of(room string) (known T, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok = c.known[room]
	return known, ok
}

// Version returns a number that changes with each call of Forget for the room.
func (c *Cache[T]) Version(room string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes[room]
}

// Learn stores what was requested when the room's version was v. It does nothing if something has changed since.
func (c *Cache[T]) Learn(room string, v uint64, said T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes[room] != v {
		return
	}
	if c.known == nil {
		c.known = map[string]T{}
	}
	c.known[room] = said
}

// Forget drops what is known about a room, because it has changed.
func (c *Cache[T]) Forget(room string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes == nil {
		c.changes = map[string]uint64{}
	}
	c.changes[room]++
	delete(c.known, room)
}

// get returns what is known about a room, and asks for it if that is nothing. An answer that is no temporary error is
// kept, too.
func (c *Cache[T]) get(ctx context.Context, room string, ask func(context.Context) (T, error)) (T, error) {
	if known, ok := c.Of(room); ok {
		return known, nil
	}
	v := c.Version(room)
	call, cancel := context.WithTimeout(ctx, matrix.CallTimeout)
	defer cancel()
	said, err := ask(call)
	if err != nil && (matrix.Temporary(err) || ctx.Err() != nil) {
		return *new(T), err
	}
	c.Learn(room, v, said)
	return said, nil
}
