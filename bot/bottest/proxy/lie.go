package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// lie is a fault of the first requests of each kind: whatever the bot does fails at first. The kind of a request is its
// method and path without the transaction ID, or the ID of a secret storage key.
type lie struct {
	fits  *regexp.Regexp // method and path
	truth *regexp.Regexp // those that are answered well all the same; may be nil
	fault Fault
	first int
	seen  map[string]int // requests, by kind
}

// truths are requests that a lie is not told about: the empty object is what they return, so it cannot be noticed, or
// the answer makes no sense.
var truths = map[string]*regexp.Regexp{
	"empty":    regexp.MustCompile(`/sendToDevice/`),
	"soft-401": regexp.MustCompile(`/login$`),
}

// lies are the faults of Lie by name.
var lies = map[string]Fault{
	"soft-401":      {Status: 401, Body: `{"errcode":"M_UNKNOWN_TOKEN","error":"expired","soft_logout":true}`},
	"403":           {Status: 403, Body: `{"errcode":"M_FORBIDDEN","error":"no"}`},
	"403-proxy":     {Status: 403, Body: `<html>blocked</html>`},
	"404":           {Status: 404, Body: `{"errcode":"M_NOT_FOUND","error":"no"}`},
	"404-proxy":     {Status: 404, Body: `404 page not found`},
	"404-unknown":   {Status: 404, Body: `{"errcode":"M_UNRECOGNIZED","error":"no such endpoint"}`},
	"408":           {Status: 408, Body: `request timeout`},
	"413":           {Status: 413, Body: `<html>too large</html>`},
	"429":           {Status: 429, Body: `{"errcode":"M_LIMIT_EXCEEDED","error":"slow down","retry_after_ms":100}`},
	"500":           {Status: 500, Body: `{"errcode":"M_UNKNOWN","error":"internal error"}`},
	"502":           {Status: 502, Body: `<html>bad gateway</html>`},
	"504":           {Status: 504, Body: ``},
	"login-page":    {Status: 200, Body: `<html>Please log in to this network.</html>`},
	"empty":         {Status: 200, Body: `{}`},
	"black-hole":    {Delay: time.Hour},
	"cut":           {Cut: true},
	"response-lost": {Lose: true},
	"truncated":     {Truncate: true},
	"stale":         {Stale: true},
}

// Lie makes the first requests of each kind that match go wrong, in the way that has this name.
func (p *Proxy) Lie(name string, first int, fits *regexp.Regexp) error {
	fault, ok := lies[name]
	if !ok {
		return fmt.Errorf("%q is not one of %s", name, strings.Join(slices.Sorted(maps.Keys(lies)), ", "))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lies = append(p.lies, &lie{fits: fits, truth: truths[name], fault: fault, first: first, seen: map[string]int{}})
	return nil
}

// Truth ends all lies, and returns the kinds of requests that met one.
func (p *Proxy) Truth() (kinds []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.lies {
		kinds = slices.AppendSeq(kinds, maps.Keys(l.seen))
	}
	p.lies = nil
	slices.Sort(kinds)
	return kinds
}

var transaction = regexp.MustCompile(`^(PUT .*/(send|sendToDevice|redact)/.*/|PUT .*/m\.secret_storage\.key\.).+$`)

// tell returns the fault of a request that is lied about.
func (p *Proxy) tell(request string) *Fault {
	for _, l := range p.lies {
		if !l.fits.MatchString(request) || l.truth != nil && l.truth.MatchString(request) {
			continue
		}
		kind := transaction.ReplaceAllString(request, "$1")
		if l.seen[kind]++; l.seen[kind] <= l.first {
			fault := l.fault
			return &fault
		}
	}
	return nil
}

// stale returns a /sync request with the oldest position that the bot has asked for, as if a homeserver had forgotten
// what came since.
func (p *Proxy) stale(r *http.Request) *http.Request {
	p.mu.Lock()
	oldest := p.oldest
	p.mu.Unlock()
	query := r.URL.Query()
	if oldest == "" || !query.Has("since") {
		return r
	}
	query.Set("since", oldest)
	r = r.Clone(r.Context())
	r.URL.RawQuery = query.Encode()
	return r
}

// errLost means that the homeserver's answer must not arrive.
var errLost = errors.New("answer lost")

// faulty is the key under which a request that is forwarded has its fault.
type faulty struct{}

// spoil loses or truncates the homeserver's answer if the request's fault says so.
func spoil(resp *http.Response) error {
	f, ok := resp.Request.Context().Value(faulty{}).(*Fault)
	switch {
	case !ok:
		return nil
	case f.Lose:
		return errLost
	case f.Truncate:
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		_ = resp.Body.Close()
		body = body[:len(body)/2]
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	return nil
}
