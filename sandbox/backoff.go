package sandbox

import (
	"context"
	"errors"
	"time"
)

// patience is how long idempotent calls are retried while podman's service is
// unreachable.
const patience = 10 * time.Second

// backoff waits 100 ms, then twice as long each time, up to two seconds.
type backoff struct {
	last  time.Duration
	until time.Time // zero = forever
}

var errPatience = errors.New("waited long enough")

func (b *backoff) wait(ctx context.Context) error {
	b.last = min(max(2*b.last, 100*time.Millisecond), 2*time.Second)
	if !b.until.IsZero() && time.Now().Add(b.last).After(b.until) {
		return errPatience
	}
	return sleep(ctx, b.last)
}

// sleep waits for d, or returns ctx's error if ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
