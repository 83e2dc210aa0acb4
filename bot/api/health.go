package api

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// starting is what is said before the bot has heard from its homeserver.
const starting = "The bot is starting: it has not synced with the homeserver yet"

// health tells how the bot is, to those that restart it and to those that look
// at it from outside: no more than the words that are meant for them.
func (h *handler) health(w http.ResponseWriter, r *http.Request, _ string) {
	now := h.service.health(r.Context())
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

// metrics tells the bot's numbers. They are gathered first, because promhttp
// would tell an error as plain text.
func (h *handler) metrics(w http.ResponseWriter, r *http.Request, _ string) {
	families, err := h.registry.Gather()
	if err != nil {
		h.fail(w, r, err)
		return
	}
	promhttp.HandlerFor(prometheus.GathererFunc(always(families)), promhttp.HandlerOpts{}).ServeHTTP(w, r)
}

func always[T any](v T) func() (T, error) { return func() (T, error) { return v, nil } }
