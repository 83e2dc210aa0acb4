package queue

import (
	"sync"
	"sync/atomic"
	"testing"
)

// However often a worker is woken, and by whomever, one goroutine works at a time, and no work is left undone.
func TestLane(t *testing.T) {
	var group Group
	group.Open.Store(true)
	var queue, done, workers atomic.Int64
	l := &Worker{
		Group: &group,
		Work: func() {
			if workers.Add(1) != 1 {
				t.Error("two workers at once")
			}
			for n := queue.Load(); n > 0 && queue.CompareAndSwap(n, n-1); n = queue.Load() {
				done.Add(1)
			}
			workers.Add(-1)
		},
	}
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for range 200 {
				queue.Add(1)
				l.Wake()
			}
		})
	}
	callers.Wait()
	group.Wait()
	if queue.Load() != 0 || done.Load() != 1600 {
		t.Errorf("%d left, %d done", queue.Load(), done.Load())
	}
	if l.alive {
		t.Error("the worker's goroutine is still alive")
	}
}

func TestLaneStaysDownWhenRefused(t *testing.T) {
	var unopened, closed Group
	closed.Open.Store(true)
	closed.Close()
	for _, group := range []*Group{&unopened, &closed} {
		l := &Worker{Group: group, Work: func() { t.Error("worked") }}
		l.Wake()
		l.Wake()
		if l.alive {
			t.Error("alive")
		}
	}
}
