package gateway

import (
	"context"
	"net/http"
	"strings"
	"time"
)

// Limits of a request to a mounted service.
const (
	maxMounted     = 64 << 10         // bytes
	maxMountedTime = 30 * time.Second // for its turn, reading and answering
)

// Mount offers rooms a service of the bot at a path, such as "/memory". The service is made for each request with the
// room of the socket that it came through. It is open only while a run of the room is active; a room's
// requests to all services are answered one after the other. Call Mount before Open.
func (g *Gateway) Mount(path string, service func(room string) http.Handler) {
	g.services[path] = service
}

// Route offers rooms what is below a prefix, such as "/model/". The handler is made for each request with the room of
// the socket that it came through, and bounds everything itself. Call Route before Open.
func (g *Gateway) Route(prefix string, handler func(room string) http.Handler) {
	g.routes[prefix] = handler
}

// route returns the handler of a path, nil = none.
func (d *door) route(path string) http.Handler {
	for prefix, handler := range d.g.routes {
		if len(path) > len(prefix) && strings.HasPrefix(path, prefix) {
			return handler(d.room)
		}
	}
	return nil
}

// Begin opens what is mounted for a room while a run is active. A room may have several runs.
func (g *Gateway) Begin(room, run string) {
	g.runsMu.Lock()
	defer g.runsMu.Unlock()
	if g.runs[room] == nil {
		g.runs[room] = map[string]bool{}
	}
	g.runs[room][run] = true
}

// End ends what Begin began. It is no error if the run has not begun.
func (g *Gateway) End(room, run string) {
	g.runsMu.Lock()
	defer g.runsMu.Unlock()
	delete(g.runs[room], run)
	if len(g.runs[room]) == 0 {
		delete(g.runs, room)
	}
}

// active reports whether a run of the room is active.
func (g *Gateway) active(room string) bool {
	g.runsMu.Lock()
	defer g.runsMu.Unlock()
	return len(g.runs[room]) > 0
}

// mounted serves a request to a mounted service.
func (d *door) mounted(w http.ResponseWriter, r *http.Request) {
	if !d.g.active(d.room) {
		sendError(w, http.StatusForbidden, "no task is running in this room")
		return
	}
	limit := min(maxMountedTime, d.g.cfg.idle)
	ctx, cancel := context.WithTimeout(r.Context(), limit)
	defer cancel()
	if err := d.turn.Acquire(ctx, 1); err != nil {
		sendError(w, http.StatusServiceUnavailable, "too many requests at once")
		return
	}
	defer d.turn.Release(1)
	if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(limit)); err != nil {
		panic(http.ErrAbortHandler) // the connection is gone
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxMounted)
	d.g.services[r.URL.Path](d.room).ServeHTTP(w, r.WithContext(ctx))
}
