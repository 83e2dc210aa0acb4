package recall

import (
	"sync"
	"time"
)

const (
	breakAfter = 3 // failures in a row
	firstBreak = time.Minute
	longBreak  = time.Hour
)

// breaker turns off what keeps failing: for a minute, and each further time for twice as long. The zero value is on.
type breaker struct {
	mu       sync.Mutex
	failures int
	wait     time.Duration
	until    time.Time
}

// on reports whether to try.
func (b *breaker) on(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !now.Before(b.until)
}

// done records a try. After too many failures it returns for how long nothing is tried.
func (b *breaker) done(now time.Time, err error) (off time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		b.failures, b.wait = 0, 0
		return 0
	}
	if b.failures++; b.failures < breakAfter || now.Before(b.until) { // of a try that began earlier
		return 0
	}
	b.wait = min(max(2*b.wait, firstBreak), longBreak)
	b.until = now.Add(b.wait)
	return b.wait
}
