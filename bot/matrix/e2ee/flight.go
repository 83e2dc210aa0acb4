package e2ee

import (
	"context"
	"sync"
	"time"
)

// flights runs requests in the background, at most one at a time for each key. Whoever
// stops waiting for one does not end it.
type flights[K comparable] struct {
	mu  sync.Mutex
	now map[K]*flight
}

type flight struct {
	begun time.Time
	done  chan struct{}
	err   error // readable after done
}

// start runs a request for those keys that are in none, and returns the requests that
// all of the keys are in. in starts a goroutine.
func (f *flights[K]) start(in *sync.WaitGroup, keys []K, run func([]K) error) []*flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now == nil {
		f.now = map[K]*flight{}
	}
	var all []*flight
	var own []K
	mine := &flight{begun: time.Now(), done: make(chan struct{})}
	for _, key := range keys {
		if other := f.now[key]; other != nil && other != mine {
			all = append(all, other)
		} else if other == nil {
			own, f.now[key] = append(own, key), mine
		}
	}
	if len(own) == 0 {
		return all
	}
	in.Go(func() {
		mine.err = run(own)
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, key := range own {
			delete(f.now, key)
		}
		close(mine.done)
	})
	return append(all, mine)
}

// overdue reports whether a request for a matching key has been running that long.
func (f *flights[K]) overdue(age time.Duration, matches func(K) bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, one := range f.now {
		if matches(key) && time.Since(one.begun) > age {
			return true
		}
	}
	return false
}

// wait waits for requests and returns the first error.
func wait(ctx context.Context, all []*flight) (err error) {
	for _, one := range all {
		select {
		case <-one.done:
			if err == nil {
				err = one.err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return err
}
