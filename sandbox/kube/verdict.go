package kube

import (
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"

	"matrix-tui/sandbox"
)

const (
	maxVerdicts = 10_000
	maxReviews  = 16 // at a time
	// maxUnknown bounds the tokens of one address that are being reviewed for the first time, or were refused in this
	// minute: an agent can make up any number. A relay whose new token is beyond that comes again, and waits for a minute
	// at most.
	maxUnknown  = maxReviews / 2
	unknownTime = time.Minute
	reviewTime  = 10 * time.Second

	welcomeAge = time.Minute     // for which the bot does not ask again
	awayAge    = time.Hour       // the same while the API server does not answer, and so no pod is replaced
	awayPause  = 5 * time.Second // before it is asked again, then
	refusalAge = 5 * time.Second // shorter: the pod may have been too new. It doubles with each refusal of the token
	sweepPause = time.Second
)

// verdict is what a review found.
type verdict struct {
	room     string
	refused  error     // nil = welcome
	reviewed time.Time // when
	until    time.Time
	age      time.Duration // of a refusal
}

// verdicts remembers for a while what reviews found. It does not remember tokens, only their digests.
type verdicts struct {
	review func(ctx context.Context, token string) (room string, err error)
	once   singleflight.Group
	turn   *semaphore.Weighted

	mu      sync.Mutex
	known   map[[sha256.Size]byte]verdict
	swept   time.Time // when old ones were last removed
	unknown *unknown
}

// unknown counts each address's tokens of a minute.
type unknown struct {
	of    map[netip.Addr]int
	since time.Time
}

var errUnknown = errors.New("too many tokens that the cluster does not know")

func newVerdicts(review func(context.Context, string) (string, error)) *verdicts {
	return &verdicts{review: review, turn: semaphore.NewWeighted(maxReviews), known: map[[sha256.Size]byte]verdict{},
		unknown: &unknown{of: map[netip.Addr]int{}}}
}

// room returns the token's room, or a refusal, or another error that says nothing about the token. The same token is
// reviewed only once at a time. While the API server does not answer, the last review counts.
func (v *verdicts) room(ctx context.Context, from netip.Addr, token string) (string, error) {
	digest := sha256.Sum256([]byte(token))
	if found, ok := v.find(digest); ok {
		return found.room, found.refused
	}
	room, err, _ := v.once.Do(string(digest[:]), func() (any, error) {
		if found, ok := v.find(digest); ok { // since a moment ago
			return found.room, found.refused
		}
		vouched, ok := v.vouch(digest, from)
		if !ok {
			return "", errUnknown
		}
		ctx, cancel := context.WithTimeout(ctx, reviewTime)
		defer cancel()
		if err := v.turn.Acquire(ctx, 1); err != nil {
			vouched()
			return "", err
		}
		defer v.turn.Release(1)
		room, err := v.review(ctx, token)
		var refused refusal
		if !errors.As(err, &refused) {
			vouched()
		}
		switch {
		case err == nil:
			v.keep(digest, verdict{room: room, reviewed: time.Now(), until: time.Now().Add(welcomeAge)})
		case errors.As(err, &refused):
			before, _ := v.last(digest)
			age := min(max(refusalAge, 2*before.age), awayAge)
			v.keep(digest, verdict{refused: err, until: time.Now().Add(age), age: age})
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

// vouch counts a token that is not known towards the bound of its address, until it turns out not to be refused. It
// returns false if that is reached.
func (v *verdicts) vouch(digest [sha256.Size]byte, from netip.Addr) (vouched func(), ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, known := v.known[digest]; known {
		return func() {}, true
	}
	if now := time.Now(); now.Sub(v.unknown.since) >= unknownTime || len(v.unknown.of) >= maxVerdicts {
		v.unknown = &unknown{of: map[netip.Addr]int{}, since: now}
	}
	in := v.unknown
	if in.of[from] >= maxUnknown {
		return nil, false
	}
	in.of[from]++
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		in.of[from]--
	}, true
}

// keep makes room for the verdict: those that count no more go first, then refusals, then any.
func (v *verdicts) keep(digest [sha256.Size]byte, found verdict) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if now := time.Now(); len(v.known) >= maxVerdicts && now.Sub(v.swept) >= sweepPause {
		v.swept = now
		maps.DeleteFunc(v.known, func(_ [sha256.Size]byte, one verdict) bool {
			return now.After(one.until) && (one.refused != nil || now.Sub(one.reviewed) >= awayAge)
		})
	}
	for _, only := range []bool{true, false} {
		for old, one := range v.known {
			if len(v.known) < maxVerdicts {
				break
			}
			if one.refused != nil || !only {
				delete(v.known, old)
			}
		}
	}
	v.known[digest] = found
}
