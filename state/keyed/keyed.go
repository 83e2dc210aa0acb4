// Package keyed has a lock per key.
package keyed

import (
	"context"
	"sync"
)

// Locks are a lock per key. They keep nothing for keys that are not locked. The zero
// value has none locked.
type Locks struct {
	mu    sync.Mutex
	locks map[string]*lock
}

type lock struct {
	turn  chan struct{} // holds one token while the lock is free
	users int
}

// Lock waits for the key's lock until ctx ends and returns the function that releases
// it.
func (k *Locks) Lock(ctx context.Context, key string) (unlock func(), err error) {
	k.mu.Lock()
	if k.locks == nil {
		k.locks = make(map[string]*lock)
	}
	l := k.locks[key]
	if l == nil {
		l = &lock{turn: make(chan struct{}, 1)}
		l.turn <- struct{}{}
		k.locks[key] = l
	}
	l.users++
	k.mu.Unlock()
	leave := func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(k.locks, key)
		}
	}
	select {
	case <-l.turn:
		return func() { l.turn <- struct{}{}; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
