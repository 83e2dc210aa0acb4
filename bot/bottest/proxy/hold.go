package proxy

import (
	"net/http"
	"regexp"
	"sync/atomic"
)

// hold delays requests of the bot before they reach the homeserver.
type hold struct {
	fits *regexp.Regexp // method and path
	now  atomic.Int64   // how many are waiting
	end  chan struct{}
}

// wait delays a request if it matches.
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

// Release lets all delayed requests through, and stops delaying.
func (p *Proxy) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hold != nil {
		close(p.hold.end)
		p.hold = nil
	}
}

// Hold delays matching requests from now on, until Release.
func (p *Proxy) Hold(fits *regexp.Regexp) {
	p.Release()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hold = &hold{fits: fits, end: make(chan struct{})}
}

// Held returns how many requests are waiting; ok is false if none are delayed.
func (p *Proxy) Held() (n int64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hold == nil {
		return 0, false
	}
	return p.hold.now.Load(), true
}
