package api

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// starting is the error before the first sync.
const starting = "The bot is starting: it has not synced with the homeserver yet"

// health serves supervisors and monitoring.
func (h *handler) health(w http.ResponseWriter, r *http.Request, _ string) {
	now := h.bot.Health(r.Context())
	told := struct {
		Status string    `json:"status,omitempty"`
		Error  string    `json:"error,omitempty"`
		Synced time.Time `json:"synced,omitzero"`
	}{Synced: now.Synced.UTC()}
	switch {
	case now.Synced.IsZero():
		told.Error = starting
	case now.Err != nil:
		told.Error = now.Err.Error()
	default:
		told.Status = "ok"
		send(w, http.StatusOK, told)
		return
	}
	send(w, http.StatusServiceUnavailable, told)
}

// metrics gathers the metrics first, because promhttp would write an error as plain
// text.
func (h *handler) metrics(w http.ResponseWriter, r *http.Request, _ string) {
	families, err := h.registry.Gather()
	if err != nil {
		h.fail(w, r, err)
		return
	}
	promhttp.HandlerFor(prometheus.GathererFunc(always(families)), promhttp.HandlerOpts{}).ServeHTTP(w, r)
}

func always[T any](v T) func() (T, error) { return func() (T, error) { return v, nil } }
