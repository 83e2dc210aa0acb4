package matrix

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	// maxAnswer bounds a /sync request: an initial one, or one after a long absence, may
	// keep a homeserver busy for minutes before it sends the first byte.
	maxAnswer = 30 * time.Minute
	// maxPause bounds the time between two parts of a response.
	maxPause = time.Minute
)

// errSilent means that the homeserver has sent nothing for too long.
var errSilent = errors.New("the homeserver has sent nothing for too long")

// waiting counts what waits for the homeserver, and how long it may be silent.
type waiting struct {
	now    atomic.Int32 // requests that are not answered
	failed atomic.Bool  // the last request was not answered by the homeserver itself
	silent int          // /sync requests in a row that got no answer in time; of the goroutine that syncs
}

// begin notes that something waits for the homeserver until the returned function is
// called with the result.
func (w *waiting) begin() (end func(error)) {
	w.now.Add(1)
	return func(err error) {
		w.failed.Store(Transient(err))
		w.now.Add(-1)
	}
}

// Waiting reports whether a login or a /sync waits for the homeserver: the request is
// not answered, or the last one failed for a reason that will go away.
func (a *Account) Waiting() bool { return a.waits.now.Load() > 0 || a.waits.failed.Load() }

// silence returns how long the homeserver may take until the first byte of a /sync
// that it may hold that long. A first sync may take very long. For any other, the limit
// starts low, because the connection may be dead, and doubles with each vain attempt,
// because the homeserver may be slow.
func (w *waiting) silence(first bool, hold time.Duration) time.Duration {
	if first || w.silent > 5 {
		return maxAnswer
	}
	return hold + time.Minute<<w.silent
}

// answered notes whether a /sync was answered in time.
func (w *waiting) answered(inTime bool) {
	if inTime {
		w.silent = 0
	} else {
		w.silent++
	}
}

// patient is an HTTP transport that ends a request if nothing comes for too long: first
// until the header, then maxPause between two parts of the body. The request may take
// longer as a whole.
type patient struct {
	next  http.RoundTripper
	first time.Duration
	stop  context.CancelCauseFunc // ends the request
}

// RoundTrip is part of [http.RoundTripper].
func (p *patient) RoundTrip(req *http.Request) (*http.Response, error) {
	timer := time.AfterFunc(p.first, func() { p.stop(errSilent) })
	resp, err := p.next.RoundTrip(req)
	if err != nil {
		timer.Stop()
		return nil, err
	}
	timer.Reset(maxPause)
	resp.Body = &patientBody{resp.Body, timer}
	return resp, nil
}

type patientBody struct {
	io.ReadCloser
	timer *time.Timer
}

func (b *patientBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case err != nil:
		b.timer.Stop()
	case n > 0:
		b.timer.Reset(maxPause)
	}
	return n, err
}

func (b *patientBody) Close() error {
	b.timer.Stop()
	return b.ReadCloser.Close()
}
