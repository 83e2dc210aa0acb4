package kube

import (
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"

	"matrix-tui/sandbox"
)

const (
	maxVerdicts = 10_000
	maxReviews  = 16 // at a time
	reviewTime  = 10 * time.Second

	welcomeAge = time.Minute     // for which the bot does not ask again
	awayAge    = time.Hour       // the same while the API server does not answer, and so no pod is replaced
	awayPause  = 5 * time.Second // before it is asked again, then
	refusalAge = 5 * time.Second // shorter: the pod may have been too new
	sweepPause = time.Second
)

// verdict is what a review found.
type verdict struct {
	room     string
	refused  error     // nil = welcome
	reviewed time.Time // when
	until    time.Time
}

// verdicts remembers for a while what reviews found. It does not remember tokens, only their digests.
type verdicts struct {
	review func(ctx context.Context, token string) (room string, err error)
	once   singleflight.Group
	turn   *semaphore.Weighted

	mu    sync.Mutex
	known map[[sha256.Size]byte]verdict
	swept time.Time // when old ones were last removed
}

func newVerdicts(review func(context.Context, string) (string, error)) *verdicts {
	return &verdicts{review: review, turn: semaphore.NewWeighted(maxReviews), known: map[[sha256.Size]byte]verdict{}}
}

// room returns the token's room, or a refusal, or another error that says nothing about the token. The same token is
// reviewed only once at a time. While the API server does not answer, the last review counts.
func (v *verdicts) room(ctx context.Context, token string) (string, error) {
	digest := sha256.Sum256([]byte(token))
	if found, ok := v.find(digest); ok {
		return found.room, found.refused
	}
	room, err, _ := v.once.Do(string(digest[:]), func() (any, error) {
		if found, ok := v.find(digest); ok { // since a moment ago
			return found.room, found.refused
		}
		ctx, cancel := context.WithTimeout(ctx, reviewTime)
		defer cancel()
		if err := v.turn.Acquire(ctx, 1); err != nil {
			return "", err
		}
		defer v.turn.Release(1)
		room, err := v.review(ctx, token)
		var refused refusal
		switch {
		case err == nil:
			v.keep(digest, verdict{room: room, reviewed: time.Now(), until: time.Now().Add(welcomeAge)})
		case errors.As(err, &refused):
			v.keep(digest, verdict{refused: err, until: time.Now().Add(refusalAge)})
		case errors.Is(err, sandbox.ErrUnreachable), errors.Is(err, context.DeadlineExceeded):
			if last, ok := v.last(digest); ok {
				last.until = time.Now().Add(awayPause)
				v.keep(digest, last)
				return last.room, nil
			}
		}
		return room, err
	})
	return room.(string), err
}

func (v *verdicts) find(digest [sha256.Size]byte) (verdict, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	found, ok := v.known[digest]
	return found, ok && time.Now().Before(found.until)
}

// last returns the token's last review, if it was welcome and that is not too long ago.
func (v *verdicts) last(digest [sha256.Size]byte) (found verdict, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	found, ok = v.known[digest]
	return found, ok && found.refused == nil && time.Since(found.reviewed) < awayAge
}

// keep makes room for the verdict: old ones go first, then any.
func (v *verdicts) keep(digest [sha256.Size]byte, found verdict) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if now := time.Now(); len(v.known) >= maxVerdicts && now.Sub(v.swept) >= sweepPause {
		v.swept = now
		maps.DeleteFunc(v.known, func(_ [sha256.Size]byte, one verdict) bool { return now.After(one.until) })
	}
	for old := range v.known {
		if len(v.known) < maxVerdicts {
			break
		}
		delete(v.known, old)
	}
	v.known[digest] = found
}
