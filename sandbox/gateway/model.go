package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"matrix-tui/bot/crash"
)

const modelPrefix = "/model/"

// The methods of the API that a room may use. Source: https://ai.google.dev/api
var (
	listPath = regexp.MustCompile(`^/v1(?:beta|alpha)?/models(?:/[A-Za-z0-9_-][A-Za-z0-9._-]{0,127})?$`)
	askPath  = regexp.MustCompile(`^/v1(?:beta|alpha)?/models/([A-Za-z0-9_-][A-Za-z0-9._-]{0,127}):(?:generateContent|streamGenerateContent|countTokens|embedContent|batchEmbedContents)$`)
)

// The only headers and query parameters that pass through; everything else, above all a key, is dropped, and what would
// make the server read or write another format than JSON.
var (
	requestHeaders = []string{"Accept-Language", "User-Agent", "X-Goog-Api-Client"}
	answerHeaders  = []string{"Content-Type", "Retry-After"}
	queryKeys      = []string{"alt", "pageSize", "pageToken"}
)

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
	path, model, gated := r.URL.Path[len(modelPrefix)-1:], "", ""
	match := askPath.FindStringSubmatch(path)
	asks := r.Method == http.MethodPost && match != nil
	if r.URL.RawPath != "" || !asks && !(r.Method == http.MethodGet && listPath.MatchString(path)) {
		sendError(w, http.StatusNotFound, "this API method is not allowed")
		return
	}
	if alt := r.URL.Query()["alt"]; len(alt) > 1 || len(alt) == 1 && alt[0] != "sse" && alt[0] != "json" {
		sendError(w, http.StatusBadRequest, "answers come as JSON only: alt must be sse or json")
		return
	}
	if asks {
		model = match[1]
	}
	if strings.HasSuffix(path, "enerateContent") {
		gated = base(model)
	}
	if err := d.g.permit(d.room, model); err != nil {
		sendError(w, http.StatusForbidden, err.Error())
		return
	}
	ctx, watch := newWatch(r.Context(), d.g.cfg.idle)
	defer watch.stop()
	var body []byte
	cost := bill{asks: asks, free: strings.HasSuffix(path, ":countTokens")}
	if asks {
		var done func()
		var err error
		if body, done, err = d.read(ctx, w, r, watch); err != nil {
			d.askFailed(w, r, err)
			return
		}
		defer done()
		if err = d.g.cfg.billed(body); err != nil {
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
		cost.size = len(body)
		open := d.open.Add(cost.estimate()) - cost.estimate()
		defer d.open.Add(-cost.estimate())
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
	if asks {
		d.meter.request()
	}
	if strings.HasSuffix(path, ":streamGenerateContent") {
		d.meter.finish.Store("")
	}
	crash.Count("model " + r.Method)
	var sent atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(w httptrace.WroteRequestInfo) { sent.Store(w.Err == nil) }})
	resp, err := d.g.model.RoundTrip(d.g.upstream(traced, r, path, body))
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
func (g *Gateway) upstream(ctx context.Context, r *http.Request, path string, body []byte) *http.Request {
	u := *g.cfg.Upstream
	u.Path, u.RawPath, u.Fragment = strings.TrimSuffix(u.Path, "/")+path, "", ""
	query, given := url.Values{}, r.URL.Query()
	for _, k := range queryKeys {
		if given.Has(k) {
			query.Set(k, given.Get(k))
		}
	}
	u.RawQuery = query.Encode()
	out := (&http.Request{Method: r.Method, URL: &u, Host: u.Host, Header: http.Header{}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(ctx)
	if len(body) > 0 {
		out.ContentLength = int64(len(body))
		out.Body = io.NopCloser(bytes.NewReader(body))
		out.Header.Set("Content-Type", "application/json")
	}
	for _, k := range requestHeaders {
		if v := r.Header.Get(k); v != "" {
			out.Header.Set(k, v)
		}
	}
	if out.Header.Get("User-Agent") == "" {
		out.Header.Set("User-Agent", "matrix-tui") // otherwise net/http adds its own
	}
	out.Header.Set("X-Goog-Api-Key", g.cfg.Key)
	return out
}

// answer streams the model's answer to the container as it arrives.
func (d *door) answer(w http.ResponseWriter, resp *http.Response, watch *watch, cost *bill) {
	key := scrubber{key: []byte(d.g.cfg.Key)}
	for _, k := range answerHeaders {
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
		cost.write(buf[:n])
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

var statusNames = map[int]string{
	http.StatusForbidden: "PERMISSION_DENIED", http.StatusNotFound: "NOT_FOUND", http.StatusBadRequest: "INVALID_ARGUMENT",
	http.StatusServiceUnavailable: "UNAVAILABLE", http.StatusBadGateway: "UNAVAILABLE", http.StatusGatewayTimeout: "DEADLINE_EXCEEDED",
}

// sendError writes an error in the format of Google's APIs. Source:
// https://google.aip.dev/193
func sendError(w http.ResponseWriter, code int, message string) {
	data, _ := json.Marshal(map[string]any{"error": map[string]any{ // cannot happen: strings and numbers only
		"code": code, "message": "gateway: " + message, "status": statusNames[code],
	}})
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(code)
	w.Write(data)
}
