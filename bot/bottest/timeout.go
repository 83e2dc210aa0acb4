package bottest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

const (
	// timeoutFactor bounds a wait in which something moves all the time: so many
	// times its deadline.
	timeoutFactor = 5
	// hung is the limit of what is measured by nothing else: far more than it takes
	// on the busiest host.
	hung = 5 * time.Minute
)

// timeout is a context that ends once nothing in the script has moved for the
// time of wait. What moves is the log of the bot and of podman's service, and
// the model's requests. On a busy host a second counts as the part of it that one
// process gets, so that what only computes, as Gemini CLI does when it starts,
// has the time it needs.
func (sc *script) timeout(wait time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		const look = 250 * time.Millisecond
		tick := time.NewTicker(look)
		defer tick.Stop()
		var still, all time.Duration
		last := sc.moved()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			spent := time.Duration(float64(look) * share())
			still, all = still+spent, all+spent
			if now := sc.moved(); now != last {
				last, still = now, 0
			}
			if still >= wait || all >= timeoutFactor*wait {
				cancel(fmt.Errorf("%w: nothing happened for %v", context.DeadlineExceeded, wait))
				return
			}
		}
	}()
	return ctx, func() { cancel(errors.New("the verb has ended")) }
}

// moved sums up all that grows while a script goes on.
func (sc *script) moved() (sum int64) {
	for _, path := range []string{sc.bot.log, sc.service.Log} {
		if info, err := os.Stat(path); err == nil {
			sum += info.Size()
		}
	}
	return sum + int64(len(sc.model.Requests()))
}

// share is the part of a processor that one more busy process gets: 1 on an
// idle host.
func share() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 1
	}
	// "0.20 0.18 0.12 1/80 11206": before the slash are those that run or want to.
	fields := strings.Fields(string(text))
	if len(fields) < 4 {
		return 1
	}
	running, err := strconv.Atoi(strings.SplitN(fields[3], "/", 2)[0])
	if err != nil {
		return 1
	}
	return min(1, float64(runtime.NumCPU())/float64(max(1, running)))
}
