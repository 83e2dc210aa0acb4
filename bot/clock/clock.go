// Package clock is the time on which the bot acts. It reads no homeserver's clock: whoever asks it for the time says
// what the clocks show.
package clock

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"matrix-tui/state"
	"matrix-tui/state/retry"
)

const (
	clockEvery = 10 * time.Minute // how often the time is stored
	clockDoubt = 24 * time.Hour   // a jump that is not believed at once
)

// Clock is the time that the bot believes. After a jump of a day or more, whatever the host's
// clock and the homeserver's say, it passes no more than twice as fast as the host has been
// running: if both clocks are wrong, questions and old records do not expire at once, and there
// is time to correct them. If the host was off, the clock is right and the bot catches up. The
// zero value believes the first time.
type Clock struct {
	mu   sync.Mutex
	last state.Clock
}

// believe returns what to believe when the clock shows now, after last.
func believe(last, now state.Clock) state.Clock {
	if last.Time.IsZero() || now.Up <= 0 {
		return now
	}
	passed := now.Up // at least
	if now.Boot == last.Boot && now.Up >= last.Up {
		passed -= last.Up
	}
	now.Told = last.Told
	earliest := last.Time.Add(passed)
	switch ahead := now.Time.Sub(earliest); {
	case ahead < 0: // it may be right again later
		now.Time = earliest
	case ahead > passed && (ahead >= clockDoubt || last.Behind):
		now.Time, now.Behind = earliest.Add(passed), true
	}
	return now
}

// Now returns the time to act on when the clock shows shown.
func (c *Clock) Now(shown time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	shown = shown.Round(0) // the monotonic reading hides jumps
	c.last = believe(c.last, state.Clock{Time: shown, Boot: bootID(), Up: uptime()})
	if c.last.Time.Before(shown) {
		return c.last.Time
	}
	return shown
}

// In returns when the time to act on will be d from now. While it catches up, that is later than d from it.
func (c *Clock) In(shown time.Time, d time.Duration) time.Time {
	now := c.Now(shown)
	return now.Add(d + min(d, shown.Sub(now)))
}

// Look returns what to store, and whether the clock has jumped ahead and the owners do not know.
func (c *Clock) Look(shown time.Time) (now state.Clock, news bool) {
	c.Now(shown)
	c.mu.Lock()
	defer c.mu.Unlock()
	news, c.last.Told = c.last.Behind && !c.last.Told, c.last.Behind
	return c.last, news
}

// Resume continues with the time of the process before this one.
func (c *Clock) Resume(ctx context.Context, journal *state.Journal) error {
	last, err := journal.LastClock(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = last
	return nil
}

// Watch stores the time that the clocks show regularly, and tells the owners about a jump, until ctx ends.
func (c *Clock) Watch(ctx context.Context, journal *state.Journal,
	shown func() time.Time, tell func(string), log zerolog.Logger) {
	for ctx.Err() == nil {
		shown := shown().UTC()
		now, news := c.Look(shown)
		if news {
			before := now.Time.UTC()
			log.Warn().Time("from", before).Time("to", shown).Msg("the clock has jumped ahead")
			tell(fmt.Sprintf("⏰ This host's clock has jumped from %s to %s (UTC). If that is wrong, please correct it. If the "+
				"host was off meanwhile, there is nothing to do. "+
				"I still keep old records and wait for answers to questions: the jump counts bit by bit, while this host is "+
				"running.", before.Format(time.DateTime), shown.Format(time.DateTime)))
		}
		if err := journal.KeepClock(ctx, now); err != nil && ctx.Err() == nil {
			log.Warn().Err(err).Msg("cannot store the time")
		}
		_ = retry.Sleep(ctx, clockEvery)
	}
}

// bootID identifies the boot of the host; "" if it is not known.
var bootID = sync.OnceValue(func() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id))
})

// uptime is how long the host has been running, asleep or not; 0 if it is not known.
func uptime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
