package gateway

import (
	"context"
	"net/http"
	"time"
)

// Limits of a request to a mounted service.
const (
	maxMounted     = 64 << 10         // bytes
	maxMountedTime = 30 * time.Second // for its turn, reading and answering
)

// Mount offers rooms a service of the bot at a path, such as "/memory". The service is made for each request with the
// room of the socket that it came through. Like the model, it is open only while a run of the room is active; a room's
// requests to all services are answered one after the other. Call Mount before Open.
func (g *Gateway) Mount(path string, service func(room string) http.Handler) {
	g.services[path] = service
}

// mounted serves a request to a mounted service.
func (d *door) mounted(w http.ResponseWriter, r *http.Request) {
	if err := d.g.permit(d.room, ""); err != nil {
		sendError(w, http.StatusForbidden, err.Error())
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
