package sandbox

import (
	"context"
	"errors"
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

// Hold protects a container, running or not, from StopUnused until release is called.
func (p *Podman) Hold(name string) (release func()) { return p.uses.begin(name) }

// LastUse returns when a container was last used through this connection; zero if never. Busy means that it is being
// used now.
func (p *Podman) LastUse(name string) (last time.Time, busy bool) {
	p.uses.mu.Lock()
	defer p.uses.mu.Unlock()
	if one := p.uses.all[name]; one != nil {
		return one.last, one.active > 0
	}
	return time.Time{}, false
}

// StopUnused stops a room's container, unless it is in use or was used after since. It reports whether the container is
// stopped now. Like Stop, it keeps volumes and layer, and leaves a foreign container alone: ErrNameTaken.
func (p *Podman) StopUnused(ctx context.Context, name, room string, since time.Time) (stopped bool, err error) {
	unlock, err := p.names.Lock(ctx, name) // an Ensure that returns before has used it, one that comes later starts it again
	if err != nil {
		return false, err
	}
	defer unlock()
	if last, busy := p.LastUse(name); busy || last.After(since) {
		return false, nil
	}
	if err := p.stop(ctx, name, room); err != nil && !errors.Is(err, ErrNotFound) {
		return false, err
	}
	return true, nil
}
