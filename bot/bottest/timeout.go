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
	// timeoutFactor bounds a wait during which there is progress all the time, as a multiple of its deadline.
	timeoutFactor = 5
	// hung bounds waits without any other measure of progress: far longer than they take on the busiest host.
	hung = 5 * time.Minute
	// longest bounds every wait: a host on which a second counts little must not hide what has failed.
	longest = 15 * time.Minute
)

// timeout returns a context that ends when the script has made no progress for the time of wait, or when the model has
// refused a request: what the script waits for will hardly come. Progress is the log of
// the bot and of podman's service, and the model's requests. On a busy host a second counts only as the share that one
// process gets, so that pure computation, such as the start of Gemini CLI, has the time it needs.
func (sc *script) timeout(wait time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		const look = 250 * time.Millisecond
		tick := time.NewTicker(look)
		defer tick.Stop()
		var still, all time.Duration
		begun := time.Now()
		last := sc.moved()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := sc.checkRefused(); err != nil {
				cancel(err)
				return
			}
			spent := time.Duration(float64(look) * share())
			still, all = still+spent, all+spent
			if now := sc.moved(); now != last {
				last, still = now, 0
			}
			if still >= wait || all >= timeoutFactor*wait || time.Since(begun) > max(longest, timeoutFactor*wait) {
				cancel(fmt.Errorf("%w: nothing happened for %v", context.DeadlineExceeded, wait))
				return
			}
		}
	}()
	return ctx, func() { cancel(errors.New("the verb has ended")) }
}

// moved sums up everything that grows while a script makes progress.
func (sc *script) moved() (sum int64) {
	for _, path := range []string{sc.bot.log, sc.service.Log} {
		if info, err := os.Stat(path); err == nil {
			sum += info.Size()
		}
	}
	return sum + int64(len(sc.model.Requests()))
}

// share returns the share of a processor that one more busy process gets: 1 on an idle host.
func share() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 1
	}
	// "0.20 0.18 0.12 1/80 11206": before the slash is the number of runnable processes.
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
