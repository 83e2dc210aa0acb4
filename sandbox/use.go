package sandbox

import (
	"sync"
	"time"
)

// uses records when each container was last used: by an Ensure, a command or a Hold. It keeps an entry until the
// container is stopped or removed.
type uses struct {
	mu  sync.Mutex
	all map[string]*use
}

type use struct {
	active int
	last   time.Time
}

// begin marks a container as used until end is called.
func (u *uses) begin(name string) (end func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	one := u.of(name)
	one.active++
	return sync.OnceFunc(func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		one.active--
		one.last = time.Now()
	})
}

// of returns the entry and creates a missing one. The caller holds mu.
func (u *uses) of(name string) *use {
	if u.all == nil {
		u.all = map[string]*use{}
	}
	if u.all[name] == nil {
		u.all[name] = &use{}
	}
	return u.all[name]
}

// forget drops the entry of a container that no longer runs, unless somebody uses it.
func (u *uses) forget(name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if one := u.all[name]; one != nil && one.active == 0 {
		delete(u.all, name)
	}
}

// lastOf returns when a container was last used; zero if never. Busy means that it is being used now.
func (u *uses) lastOf(name string) (last time.Time, busy bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if one := u.all[name]; one != nil {
		return one.last, one.active > 0
	}
	return time.Time{}, false
}
