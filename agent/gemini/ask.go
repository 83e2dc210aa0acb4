package gemini

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"matrix-tui/bot/crash"
)

// ask answers a request of the room.
func (d *room) ask(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path[len(Prefix)-1:]
	call, ok := CallOf(r.Method, path)
	if r.URL.RawPath != "" || !ok {
		refuseTo(w, http.StatusNotFound, "this API method is not allowed")
		return
	}
	query, err := Query(r.URL.Query())
	if err != nil {
		refuseTo(w, http.StatusBadRequest, err.Error())
		return
	}
	model, gated := call.Model, call.Gated()
	if err := d.permitted(model); err != nil {
		refuseTo(w, http.StatusForbidden, err.Error())
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	alive := time.AfterFunc(d.cfg.idle, cancel)
	defer alive.Stop()
	var body []byte
	cost := Bill{Call: call}
	if call.Asks {
		var done func()
		var err error
		if body, done, err = d.read(ctx, w, r); err != nil {
			d.askFailed(w, r, err)
			return
		}
		defer done()
		if err = Billed(body, d.cfg.Tools); err != nil {
			refuseTo(w, http.StatusForbidden, err.Error())
			return
		}
		if err = d.asks.Acquire(ctx, 1); err != nil {
			d.askFailed(w, r, err)
			return
		}
		defer d.asks.Release(1)
		if err = d.permitted(model); err != nil { // the run may have ended meanwhile
			refuseTo(w, http.StatusForbidden, err.Error())
			return
		}
		cost.Size = len(body)
		open := d.open.Add(cost.Estimate()) - cost.Estimate()
		defer d.open.Add(-cost.Estimate())
		if err = d.allow(ctx, d.id, open); err != nil {
			refuseTo(w, http.StatusForbidden, err.Error())
			return
		}
	}
	if closure, closed := d.gates.closed(gated); closed {
		d.askFailed(w, r, &closure)
		return
	}
	if call.Streams {
		d.finish.Store("")
	}
	crash.Count("model " + r.Method)
	var sent atomic.Bool
	traced := httptrace.WithClientTrace(ctx,
		&httptrace.ClientTrace{WroteRequest: func(w httptrace.WroteRequestInfo) { sent.Store(w.Err == nil) }})
	resp, err := d.out.RoundTrip(d.upstream(traced, r, path, query, body))
	if err != nil {
		if sent.Load() { // the model has the request, whoever has hung up
			d.count(&cost, http.StatusOK)
		}
		d.askFailed(w, r, err)
		return
	}
	defer resp.Body.Close()
	if closure, closed := d.verdict(gated, resp); closed {
		d.count(&cost, resp.StatusCode)
		d.askFailed(w, r, &closure)
		return
	}
	if resp.StatusCode < 200 || resp.StatusCode >= 300 && resp.StatusCode < 400 {
		refuseTo(w, http.StatusBadGateway, "the model's server sent a redirect")
		return
	}
	d.answer(w, resp, alive, &cost)
	crash.Count("model answered")
}

var errLate = errors.New("the request did not arrive in time, or not whole")

// read reads a request to the end: it is judged as a whole before anything leaves the host. At most maxBody bytes of a
// room are held at the same time, and allBodies of all rooms, until done is called; more requests wait.
func (d *room) read(ctx context.Context, w http.ResponseWriter, r *http.Request) (body []byte, done func(), err error) {
	size := r.ContentLength
	if size > maxBody {
		return nil, nil, &http.MaxBytesError{Limit: maxBody}
	}
	if size < 0 {
		size = maxUnknown
	}
	if err := d.held.Acquire(ctx, size); err != nil {
		return nil, nil, err
	}
	from := d.own
	if !from.TryAcquire(size) {
		from = d.bodies
		if err := from.Acquire(ctx, size); err != nil {
			d.held.Release(size)
			return nil, nil, err
		}
	}
	done = func() { from.Release(size); d.held.Release(size) }
	limit := http.NewResponseController(w)
	err = limit.SetReadDeadline(time.Now().Add(maxSend))
	in := http.MaxBytesReader(w, r.Body, size)
	switch {
	case err != nil:
	case r.ContentLength >= 0: // in one piece of memory
		body = make([]byte, size)
		_, err = io.ReadFull(in, body)
	default: // a buffer grows by copying, so it gets a smaller limit
		body, err = io.ReadAll(in)
	}
	if err = errors.Join(err, limit.SetReadDeadline(time.Time{})); err != nil {
		done()
		if tooLong := (*http.MaxBytesError)(nil); !errors.As(err, &tooLong) && ctx.Err() == nil {
			err = errLate
		}
		return nil, nil, err
	}
	return body, done, nil
}

// upstream builds the request that leaves the host.
func (d *room) upstream(ctx context.Context, r *http.Request, path, query string, body []byte) *http.Request {
	u := *d.cfg.Base
	u.Path, u.RawPath, u.Fragment = strings.TrimSuffix(u.Path, "/")+path, "", ""
	u.RawQuery = query
	out := (&http.Request{Method: r.Method, URL: &u, Host: u.Host, Header: http.Header{}, Proto: "HTTP/1.1", ProtoMajor: 1,
		ProtoMinor: 1}).WithContext(ctx)
	if len(body) > 0 {
		out.ContentLength = int64(len(body))
		out.Body = io.NopCloser(bytes.NewReader(body))
	}
	headers(out.Header, r.Header, d.cfg.Key, len(body) > 0)
	return out
}
