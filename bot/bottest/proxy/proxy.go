// Package proxy sits between a bot and its homeserver and does what a broken or hostile homeserver would: it answers in
// its place, delays, cuts connections, rewrites answers and inserts events. It forwards everything else byte by byte,
// so that duplicate keys and odd spellings arrive as written. It never decodes what it forwards.
//
// A fault applies to requests whose method and path, as "GET /_matrix/…" without the query, match its expression, for a
// given number of requests.
package proxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Proxy is safe for concurrent use.
type Proxy struct {
	server *httptest.Server
	closed chan struct{}

	mu         sync.Mutex
	faults     []*Fault
	lies       []*lie
	oldest     string // position that the bot has asked /sync for
	deviceless string // the user of a token, if the bot must not learn its device
	hold       *hold
	pending    []insert // for the next answer to /sync
	wake       context.CancelFunc
}

// Fault is what goes wrong with some requests. One of Status, Delay, Cut, Lose, Truncate, Stale and Rewrite is set.
type Fault struct {
	Fits *regexp.Regexp // method and path
	Left int            // how many more times it happens

	Status   int // the answer, instead of the homeserver's
	Body     string
	Delay    time.Duration  // before the request is forwarded
	Cut      bool           // the connection is closed without an answer
	Lose     bool           // the same, after the homeserver has done what it was asked for
	Truncate bool           // half of the homeserver's answer arrives
	Stale    bool           // a sync begins at the oldest position that the bot has asked for
	Rewrite  *regexp.Regexp // what in the answer becomes To, literally; an answer without a match does not count
	To       string
}

// New returns a proxy in front of a homeserver. Close ends it.
func New(homeserver string) (*Proxy, error) {
	target, err := url.Parse(homeserver)
	if err != nil {
		return nil, fmt.Errorf("read address of the homeserver: %w", err)
	}
	p := &Proxy{closed: make(chan struct{})}
	through := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Set("Accept-Encoding", "identity") // compressed answers could not be rewritten
		},
		ModifyResponse: p.rewrite,
		ErrorHandler:   p.failed,
		ErrorLog:       log.New(io.Discard, "", 0), // a homeserver that was stopped, or a sync that was cut short
	}
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		p.serve(w, r, through)
	}))
	return p, nil
}

// URL is the address of the homeserver as the bot knows it.
func (p *Proxy) URL() string { return p.server.URL }

// Close lets all waiting requests continue, and ends; a nil Proxy has ended.
func (p *Proxy) Close() {
	if p != nil {
		p.Release()
		close(p.closed)
		p.server.CloseClientConnections()
		p.server.Close()
	}
}

// Add adds a fault.
func (p *Proxy) Add(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, &f)
}

// Left returns how often faults will still happen, and how many inserts have not been delivered.
func (p *Proxy) Left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.pending)
	for _, f := range p.faults {
		n += f.Left
	}
	return n
}

// Deviceless makes the homeserver say that the bot's token belongs to this user and to no device, like an application
// service's.
func (p *Proxy) Deviceless(user string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deviceless = user
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request, through http.Handler) {
	if f := p.take(r); f != nil {
		switch {
		case f.Cut:
			panic(http.ErrAbortHandler)
		case f.Status != 0:
			answer(w, f.Status, f.Body)
			return
		case f.Lose, f.Truncate:
			r = r.WithContext(context.WithValue(r.Context(), faulty{}, f))
		case f.Stale:
			r = p.stale(r)
		}
		select {
		case <-time.After(f.Delay):
		case <-r.Context().Done():
			return
		case <-p.closed: // the server does not notice that a client has gone while there is a body to read
			return
		}
	}
	p.mu.Lock()
	user := p.deviceless
	p.mu.Unlock()
	if user != "" && strings.HasSuffix(r.URL.Path, "/account/whoami") {
		answer(w, http.StatusOK, fmt.Sprintf(`{"user_id":%q}`, user))
		return
	}
	p.wait(r)
	if takesInserts(r) {
		ctx, cancel := context.WithCancel(context.WithValue(r.Context(), bot{}, r.Context()))
		defer cancel()
		if p.insertInto(w, r, cancel) {
			return
		}
		r = r.WithContext(ctx)
	}
	through.ServeHTTP(w, r)
}

// take counts down the first fault of a request that needs no answer, nil if there is none.
func (p *Proxy) take(r *http.Request) *Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	if strings.HasSuffix(r.URL.Path, "/sync") && p.oldest == "" {
		p.oldest = r.URL.Query().Get("since")
	}
	for _, f := range p.faults {
		if f.Left > 0 && f.Rewrite == nil && f.Fits.MatchString(r.Method+" "+r.URL.Path) {
			f.Left--
			taken := *f
			return &taken
		}
	}
	return p.tell(r.Method + " " + r.URL.Path)
}

// rewrite changes the homeserver's answer if a fault says so.
func (p *Proxy) rewrite(resp *http.Response) error {
	if err := spoil(resp); err != nil {
		return err
	}
	request := resp.Request.Method + " " + resp.Request.URL.Path
	rewrites := func(f *Fault) bool { return f.Left > 0 && f.Rewrite != nil && f.Fits.MatchString(request) }
	p.mu.Lock()
	any := slices.ContainsFunc(p.faults, rewrites)
	p.mu.Unlock()
	if !any {
		return nil
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	p.mu.Lock()
	for _, f := range p.faults {
		if rewrites(f) && f.Rewrite.Match(body) {
			f.Left--
			body = f.Rewrite.ReplaceAllLiteral(body, []byte(f.To))
		}
	}
	p.mu.Unlock()
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

func answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}
