package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"matrix-tui/agent/gemini"
	"matrix-tui/bot/crash"
)

const modelPrefix = "/model/"

func modelTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment, // the operator's proxy, not the container's
		DialContext:           (&net.Dialer{Timeout: maxDial, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		TLSHandshakeTimeout:   maxDial,
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       time.Minute,
		MaxIdleConnsPerHost:   32,
		DisableCompression:    true, // a compressed stream arrives in bursts

		MaxResponseHeaderBytes: maxHeaders,
	}
}

// ask is the model route.
func (d *door) ask(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path[len(modelPrefix)-1:]
	call, ok := gemini.CallOf(r.Method, path)
	if r.URL.RawPath != "" || !ok {
		sendError(w, http.StatusNotFound, "this API method is not allowed")
		return
	}
	query, err := gemini.Query(r.URL.Query())
	if err != nil {
		sendError(w, http.StatusBadRequest, err.Error())
		return
	}
	model, gated := call.Model, call.Gated()
	if err := d.g.permit(d.room, model); err != nil {
		sendError(w, http.StatusForbidden, err.Error())
		return
	}
	ctx, watch := newWatch(r.Context(), d.g.cfg.idle)
	defer watch.stop()
	var body []byte
	cost := gemini.Bill{Call: call}
	if call.Asks {
		var done func()
		var err error
		if body, done, err = d.read(ctx, w, r, watch); err != nil {
			d.askFailed(w, r, err)
			return
		}
		defer done()
		if err = gemini.Billed(body, d.g.cfg.Tools); err != nil {
			sendError(w, http.StatusForbidden, err.Error())
			return
		}
		if err = d.asks.Acquire(ctx, 1); err != nil {
			d.askFailed(w, r, err)
			return
		}
		defer d.asks.Release(1)
		if err = d.g.permit(d.room, model); err != nil { // the run may have ended meanwhile
			sendError(w, http.StatusForbidden, err.Error())
			return
		}
		cost.Size = len(body)
		open := d.open.Add(cost.Estimate()) - cost.Estimate()
		defer d.open.Add(-cost.Estimate())
		if err = d.g.allow(ctx, d.room, open); err != nil {
			sendError(w, http.StatusForbidden, err.Error())
			return
		}
	}
	first, err := d.g.gates.enter(ctx, gated)
	if err != nil {
		d.askFailed(w, r, err)
		return
	}
	if call.Asks {
		d.meter.request()
	}
	if call.Streams {
		d.meter.finish.Store("")
	}
	crash.Count("model " + r.Method)
	var sent atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(w httptrace.WroteRequestInfo) { sent.Store(w.Err == nil) }})
	resp, err := d.g.model.RoundTrip(d.g.upstream(traced, r, path, query, body))
	if err != nil {
		d.g.gates.leave(gated, first, 0, nil)
		if sent.Load() { // the model has the request, whoever has hung up
			d.count(&cost, http.StatusOK)
		}
		d.askFailed(w, r, err)
		return
	}
	defer resp.Body.Close()
	if closure, closed := d.verdict(gated, first, resp, watch); closed {
		d.count(&cost, resp.StatusCode)
		d.askFailed(w, r, &closure)
		return
	}
	if resp.StatusCode < 200 || resp.StatusCode >= 300 && resp.StatusCode < 400 {
		sendError(w, http.StatusBadGateway, "the model's server sent a redirect")
		return
	}
	d.answer(w, resp, watch, &cost)
	crash.Count("model answered")
}

var errLate = errors.New("the request did not arrive in time, or not whole")

// read reads a request to the end: it is judged as a whole before anything leaves the host. At most maxBody bytes of a
// room are held at the same time, and allBodies of all rooms, until done is called; more requests wait.
func (d *door) read(ctx context.Context, w http.ResponseWriter, r *http.Request, watch *watch) (body []byte, done func(), err error) {
	size := r.ContentLength
	if size > maxBody {
		return nil, nil, &http.MaxBytesError{Limit: maxBody}
	}
	if size < 0 {
		size = maxUnknown
	}
	if err := d.bodies.Acquire(ctx, size); err != nil {
		return nil, nil, err
	}
	from := d.own
	if !from.TryAcquire(size) {
		from = d.g.bodies
		if err := from.Acquire(ctx, size); err != nil {
			d.bodies.Release(size)
			return nil, nil, err
		}
	}
	done = func() { from.Release(size); d.bodies.Release(size) }
	limit := http.NewResponseController(w)
	err = limit.SetReadDeadline(time.Now().Add(maxSend))
	in := watch.body(http.MaxBytesReader(w, r.Body, size))
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
func (g *Gateway) upstream(ctx context.Context, r *http.Request, path, query string, body []byte) *http.Request {
	u := *g.cfg.Upstream
	u.Path, u.RawPath, u.Fragment = strings.TrimSuffix(u.Path, "/")+path, "", ""
	u.RawQuery = query
	out := (&http.Request{Method: r.Method, URL: &u, Host: u.Host, Header: http.Header{}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(ctx)
	if len(body) > 0 {
		out.ContentLength = int64(len(body))
		out.Body = io.NopCloser(bytes.NewReader(body))
	}
	gemini.Headers(out.Header, r.Header, g.cfg.Key, len(body) > 0)
	return out
}

// answer streams the model's answer to the container as it arrives.
func (d *door) answer(w http.ResponseWriter, resp *http.Response, watch *watch, cost *gemini.Bill) {
	key := scrubber{key: []byte(d.g.cfg.Key)}
	for _, k := range gemini.AnswerHeaders {
		if v := resp.Header.Get(k); v != "" {
			w.Header().Set(k, key.text(v))
		}
	}
	switch {
	case resp.ContentLength >= 0:
		w.Header().Set("Content-Length", strconv.FormatInt(resp.ContentLength, 10))
	case strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream"):
		w.Header().Set("Transfer-Encoding", "identity") // ends with the connection, see the package comment
	}
	w.WriteHeader(resp.StatusCode)
	flush := http.NewResponseController(w)
	flush.Flush()
	body, buf := watch.body(resp.Body), make([]byte, 32<<10)
	for {
		n, err := body.Read(buf)
		cost.Take(buf[:n])
		out := key.next(buf[:n])
		if err != nil {
			out = append(out, key.rest()...)
		}
		if len(out) > 0 {
			if _, werr := w.Write(out); werr != nil {
				break
			}
			flush.Flush()
		}
		if err == io.EOF {
			break
		}
		if err != nil { // the other side was cut, so this one must be too
			d.count(cost, resp.StatusCode)
			panic(http.ErrAbortHandler)
		}
	}
	d.count(cost, resp.StatusCode)
}

// askFailed answers if the model's server did not. The container learns no details.
func (d *door) askFailed(w http.ResponseWriter, r *http.Request, err error) {
	var large *http.MaxBytesError
	var closure *Closure
	switch {
	case errors.As(err, &closure):
		sendError(w, http.StatusForbidden, closure.Error()) // the agent does not repeat what is forbidden
	case errors.As(err, &large):
		sendError(w, http.StatusRequestEntityTooLarge, "the request is larger than "+strconv.FormatInt(large.Limit, 10)+" bytes")
	case errors.Is(err, errLate):
		sendError(w, http.StatusRequestTimeout, errLate.Error())
	case r.Context().Err() != nil:
		panic(http.ErrAbortHandler) // the container went away, or the gateway is closing
	case errors.Is(err, context.Canceled):
		sendError(w, http.StatusGatewayTimeout, "the model's server did not respond in time")
	default:
		d.log.Warn().Err(err).Msg("cannot reach the model's server")
		sendError(w, http.StatusServiceUnavailable, "cannot reach the model's server")
	}
}

// sendError writes an error as the agent reads it.
func sendError(w http.ResponseWriter, code int, message string) {
	gemini.SendError(w, code, "gateway: "+message)
}
