// Package retry is the only way in which this program waits before it retries: pauses that double, vary a little so
// that a hundred rooms do not retry at the same moment, and end with their context. It never decides what is worth
// retrying.
package retry

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Backoff produces one pause after the other. It belongs to one goroutine.
type Backoff struct {
	pauses backoff.ExponentialBackOff
	until  *time.Time // nil: forever
}

// New starts with a pause of about first, and doubles it up to about most.
func New(first, most time.Duration) *Backoff {
	return &Backoff{pauses: backoff.ExponentialBackOff{InitialInterval: first, MaxInterval: most, Multiplier: 2,
		RandomizationFactor: 0.2}}
}

// Until makes Wait return rather than wait beyond a point in time.
func (b *Backoff) Until(t time.Time) *Backoff {
	b.until = &t
	return b
}

// Next returns the next pause, for callers that also wait for something else.
func (b *Backoff) Next() time.Duration { return b.pauses.NextBackOff() }

// Reset starts the pauses over, after a success.
func (b *Backoff) Reset() { b.pauses.Reset() }

// Wait waits for the next pause. It returns err, the reason for the retry, when the time is up, and the context's error
// when that ends.
func (b *Backoff) Wait(ctx context.Context, err error) error {
	pause := b.Next()
	if b.until != nil && time.Now().Add(pause).After(*b.until) {
		return err
	}
	return Sleep(ctx, pause)
}

// Sleep waits, or returns the error of a context that ends before.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
