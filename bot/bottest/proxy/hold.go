package proxy

import (
	"net/http"
	"regexp"
	"sync/atomic"
)

// hold has requests of the bot wait before they reach the homeserver.
type hold struct {
	fits *regexp.Regexp // method and path
	now  atomic.Int64   // how many wait
	end  chan struct{}
}

// wait holds a request up, if it is one that is held.
func (p *Proxy) wait(r *http.Request) {
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

// Release lets through what waits, and what is still to come.
func (p *Proxy) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hold != nil {
		close(p.hold.end)
		p.hold = nil
	}
}

// Hold has requests that fit wait from now on, until Release.
func (p *Proxy) Hold(fits *regexp.Regexp) {
	p.Release()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hold = &hold{fits: fits, end: make(chan struct{})}
}

// Held is how many requests wait; ok is false when none is to.
func (p *Proxy) Held() (n int64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hold == nil {
		return 0, false
	}
	return p.hold.now.Load(), true
}
