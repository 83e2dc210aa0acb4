package api

import (
	"context"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// route is a path and its handler.
type route struct {
	name   string // its path; also used in logs and metrics
	method string // GET allows HEAD
	open   bool   // needs no token
	handle func(h *handler, w http.ResponseWriter, r *http.Request, id string)
}

// routes lists all routes. One that ends in a slash takes a session ID.
var routes = []route{
	{"/execute", http.MethodPost, false, (*handler).execute},
	{"/context/", http.MethodGet, false, (*handler).context},
	{"/resume/", http.MethodPost, false, (*handler).resume},
	{"/healthz", http.MethodGet, true, (*handler).health},
	{"/metrics", http.MethodGet, false, (*handler).metrics},
}

// find returns the route of a path and the session ID in it.
func find(path string) (rt route, id string, ok bool) {
	for _, rt := range routes {
		id, under := strings.CutPrefix(path, rt.name)
		switch {
		case !under:
		case !strings.HasSuffix(rt.name, "/") && id == "":
			return rt, "", true
		case strings.HasSuffix(rt.name, "/") && id != "" && len(id) <= maxID && !strings.Contains(id, "/"):
			return rt, id, true
		}
	}
	return route{}, "", false
}

// allow returns the methods of a route.
func (rt route) allow() string {
	if rt.method == http.MethodGet {
		return "GET, HEAD"
	}
	return rt.method
}

// takes reports whether the route has the method.
func (rt route) takes(method string) bool {
	return method == rt.method || method == http.MethodHead && rt.method == http.MethodGet
}

// ServeHTTP serves one request, counts it and logs it.
func (h *handler) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	begun, w := time.Now(), &status{ResponseWriter: rw}
	ctx, cancel := context.WithTimeout(r.Context(), maxTime)
	defer cancel()
	rt, id, ok := find(r.URL.Path)
	if !ok {
		rt = route{name: "none"}
	}
	defer func() {
		if recover() != nil { // its value may contain a body
			h.log.Error().Str("route", rt.name).Bytes("stack", debug.Stack()).Msg("panic in an HTTP handler")
			if w.code != 0 {
				panic(http.ErrAbortHandler) // a response that has started is cut
			}
			sendError(w, http.StatusInternalServerError, "Internal error: the operator can find it in the log")
		}
		h.requests.WithLabelValues(rt.name, strconv.Itoa(w.code)).Inc()
		h.log.Debug().Str("method", method(r.Method)).Str("route", rt.name).Int("status", w.code).
			Dur("took", time.Since(begun)).Msg("http request")
	}()
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	h.answer(w, r.WithContext(ctx), rt, id)
}

// answer passes a request to its route. A client without the token learns nothing, not
// even which paths exist.
func (h *handler) answer(w http.ResponseWriter, r *http.Request, rt route, id string) {
	switch {
	case !rt.open && !h.guard.opens(r):
		w.Header().Set("WWW-Authenticate", `Bearer realm="matrix-tui"`)
		sendError(w, http.StatusUnauthorized, "Missing or wrong header Authorization: Bearer TOKEN, with the bot's API_TOKEN")
	case rt.handle == nil:
		sendError(w, http.StatusNotFound, "Path not found")
	case !rt.takes(r.Method):
		w.Header().Set("Allow", rt.allow())
		sendError(w, http.StatusMethodNotAllowed, "This path supports only "+rt.allow())
	default:
		rt.handle(h, w, r, id)
	}
}

// method limits the method names in the log to those that HTTP defines.
func method(m string) string {
	switch m {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT":
		return m
	}
	return "other"
}

// status records the status of a response, 0 before it starts.
type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

func (s *status) Write(p []byte) (int, error) {
	if s.code == 0 {
		s.code = http.StatusOK
	}
	return s.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (s *status) Unwrap() http.ResponseWriter { return s.ResponseWriter }
