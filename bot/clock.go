package bot

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"matrix-tui/state"
	"matrix-tui/state/retry"
)

const (
	clockEvery = 10 * time.Minute // how often the time is stored
	clockDoubt = 24 * time.Hour   // a jump that the owners are told about
)

// clock is the time that the bot believes. It never passes more than twice as fast as the host
// has been running, whatever the host's clock and the homeserver's say: if both jump ahead,
// questions and old records do not expire at once, and there is time to correct the clock. After
// a pause of the host, the clock is right and catches up. The zero value believes the first time.
type clock struct {
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
	if earliest := last.Time.Add(passed); now.Time.Before(earliest) { // it may be right again later
		now.Time = earliest
	} else if latest := earliest.Add(passed); now.Time.After(latest) {
		now.Time = latest
	}
	return now
}

// read returns the time to act on when the clock shows shown.
func (c *clock) read(shown time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	shown = shown.Round(0) // the monotonic reading hides jumps
	c.last = believe(c.last, state.Clock{Time: shown, Boot: bootID(), Up: uptime()})
	if c.last.Time.Before(shown) {
		return c.last.Time
	}
	return shown
}

// look returns what to store, and whether the clock has jumped ahead and the owners do not know.
func (c *clock) look(shown time.Time) (now state.Clock, news bool) {
	doubt := shown.Sub(c.read(shown)) >= clockDoubt
	c.mu.Lock()
	defer c.mu.Unlock()
	news, c.last.Told = doubt && !c.last.Told, doubt
	return c.last, news
}

// now returns the time for everything that expires.
func (b *Bot) now() time.Time { return b.clock.read(b.account.Now()) }

// resumeClock continues with the time of the process before this one.
func (b *Bot) resumeClock(ctx context.Context) error {
	last, err := b.Journal.LastClock(ctx)
	if err != nil {
		return err
	}
	b.clock.mu.Lock()
	defer b.clock.mu.Unlock()
	b.clock.last = last
	return nil
}

// watchClock stores the time regularly, and tells the owners about a jump, until ctx ends.
func (b *Bot) watchClock(ctx context.Context) {
	for ctx.Err() == nil {
		shown := b.account.Now().UTC()
		now, news := b.clock.look(shown)
		if news {
			before := now.Time.UTC()
			b.log.Warn().Time("from", before).Time("to", shown).Msg("the clock has jumped ahead")
			b.note(fmt.Sprintf("⏰ This host's clock has jumped from %s to %s. If that is wrong, please correct it. If the host was off meanwhile, there is nothing to do. "+
				"I still keep old records and wait for answers to questions: the jump counts bit by bit, while I am running.", before.Format(time.DateTime), shown.Format(time.DateTime)))
		}
		if err := b.Journal.KeepClock(ctx, now); err != nil && ctx.Err() == nil {
			b.log.Warn().Err(err).Msg("cannot store the time")
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
