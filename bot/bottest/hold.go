package bottest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"sync/atomic"

	"matrix-tui/bot/bottest/host"
)

// hold has requests of the bot wait before they reach the homeserver.
type hold struct {
	fits *regexp.Regexp // method and path
	now  atomic.Int64   // how many wait
	end  chan struct{}
}

// wait holds a request up, if it is one that is held.
func (p *proxy) wait(r *http.Request) {
	p.mu.Lock()
	h := p.hold
	p.mu.Unlock()
	if h == nil || !h.fits.MatchString(r.Method+" "+r.URL.Path) {
		return
	}
	h.now.Add(1)
	defer h.now.Add(-1)
	select {
	case <-h.end:
	case <-r.Context().Done():
	}
}

// release lets through what waits, and what is still to come.
func (p *proxy) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hold != nil {
		close(p.hold.end)
		p.hold = nil
	}
}

// doHold has requests of the bot wait from now on.
func doHold(_ context.Context, sc *script, _ bool, args []string) error {
	re, err := regexp.Compile(args[0])
	if err != nil {
		return err
	}
	if sc.proxy == nil {
		if sc.bot.proc != nil {
			return errors.New("the first hold comes before the bot's first start")
		}
		if sc.proxy, err = newProxy(sc.home.URL()); err != nil {
			return err
		}
	}
	sc.proxy.release()
	sc.proxy.mu.Lock()
	defer sc.proxy.mu.Unlock()
	sc.proxy.hold = &hold{fits: re, end: make(chan struct{})}
	return nil
}

// doHeld waits until so many requests are held up, and fails when it is more.
func doHeld(ctx context.Context, sc *script, _ bool, args []string) error {
	want, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		return err
	}
	if sc.proxy == nil || sc.proxy.hold == nil {
		return errors.New("hold comes first")
	}
	var now int64
	err = host.Poll(ctx, func() (bool, error) {
		if now = sc.proxy.hold.now.Load(); now > want {
			return false, fmt.Errorf("more than %d", want)
		}
		return now == want, nil
	})
	if err != nil {
		return fmt.Errorf("%d requests are held: %w", now, err)
	}
	return nil
}

// doRelease lets what is held go on.
func doRelease(_ context.Context, sc *script, _ bool, _ []string) error {
	if sc.proxy == nil {
		return errors.New("hold comes first")
	}
	sc.proxy.release()
	return nil
}
