package e2ee

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// background runs functions until it is closed.
type background struct {
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// start runs f in a goroutine, or returns false.
func (b *background) start(f func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.running.Go(f)
	}
	return !b.closed
}

// close waits for everything that was started.
func (b *background) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.running.Wait()
}

var errClosed = errors.New("the encryption is closed")

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
// all of the keys are in.
func (f *flights[K]) start(in *background, keys []K, run func([]K) error) []*flight {
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
	end := func() {
		for _, key := range own {
			delete(f.now, key)
		}
		close(mine.done)
	}
	if !in.start(func() {
		mine.err = recovered(func() error { return run(own) })
		f.mu.Lock()
		defer f.mu.Unlock()
		end()
	}) {
		mine.err = errClosed
		end()
	}
	return append(all, mine)
}

// recovered calls f and returns its error, or that it caused a panic, which would end the
// process in a goroutine of ours. Data that others have sent can cause one in a library.
func recovered(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return f()
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
