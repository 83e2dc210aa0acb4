package capacity

import (
	"context"
	"slices"
	"sync"
)

// Slots limits how many tasks run at once, over all rooms. Of the tasks that wait for a slot, those go first whose
// agent is there already: they start in a twentieth of the time. No task waits forever because of them, because no
// agent is started in advance while a task waits for its own. Otherwise the first come first. Slots is safe for
// concurrent use.
type Slots struct {
	mu      sync.Mutex
	free    int
	waiting []*waiter // in the order in which they get a slot
}

// waiter is a task that waits for a slot.
type waiter struct {
	ready bool          // its agent is there
	got   chan struct{} // closed when it has a slot
}

// NewSlots returns n free slots.
func NewSlots(n int) *Slots { return &Slots{free: n} }

// TryAcquire takes a slot, unless there is none.
func (s *Slots) TryAcquire() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free == 0 {
		return false
	}
	s.free--
	return true
}

// Acquire waits for a slot. Ready reports whether the task's agent is there already. The error is ctx's.
func (s *Slots) Acquire(ctx context.Context, ready bool) error {
	w := &waiter{ready: ready, got: make(chan struct{})}
	s.mu.Lock()
	if s.free > 0 {
		s.free--
		close(w.got)
	} else {
		at := len(s.waiting)
		if first := slices.IndexFunc(s.waiting, func(other *waiter) bool { return !other.ready }); ready && first >= 0 {
			at = first
		}
		s.waiting = slices.Insert(s.waiting, at, w)
	}
	s.mu.Unlock()
	select {
	case <-w.got:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	at := slices.Index(s.waiting, w)
	if at >= 0 {
		s.waiting = slices.Delete(s.waiting, at, at+1)
	}
	s.mu.Unlock()
	if at < 0 { // it got one at the same moment
		s.Release()
	}
	return ctx.Err()
}

// Release frees a slot, or gives it to the task that waits first.
func (s *Slots) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		s.free++
		return
	}
	close(s.waiting[0].got)
	s.waiting = slices.Delete(s.waiting, 0, 1)
}
