// Package api is the bot's HTTP API, for scripts and other programs: it starts
// an execution, reports its state, answers its question, and reports the bot's
// own health.
//
//	POST /execute               {"room","transcript","commands"} → 202 {"session_id","state"}
//	GET  /context/{session_id}  → 200 and the execution
//	POST /resume/{session_id}   {"answer"} → 200 {"session_id","state":"resuming"}
//	GET  /healthz               → 200 or 503; the only route that needs no token
//	GET  /metrics               → Prometheus
//
// The executions are the rooms' own: an execution started here is announced in
// its room, and a question asked in a room can be answered here. The package
// only reads requests and writes responses; the bot decides everything else. It
// never logs a body, a header or the token.
package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/rs/zerolog"

	"matrix-tui/bot"
)

// Bounds of one request.
const (
	maxBody   = 1 << 20 // bytes
	maxHeader = 16 << 10
	maxKey    = 255 // bytes of an Idempotency-Key
	maxID     = 200 // bytes of a session ID in a path
	maxTime   = 20 * time.Second
)

// Bot is what the routes need from the bot. It is an interface because the tests of the API have no homeserver.
type Bot interface {
	Execute(ctx context.Context, s bot.Submission) (json.RawMessage, error)
	Execution(ctx context.Context, id string) (json.RawMessage, error)
	Resume(ctx context.Context, id string, reply bot.Reply) (json.RawMessage, error)
	Health(ctx context.Context) bot.Health
	Collectors() []prometheus.Collector
}

// handler serves all requests.
type handler struct {
	bot      Bot
	guard    guard
	log      zerolog.Logger
	registry *prometheus.Registry
	requests *prometheus.CounterVec
}

// New returns the handler for b. Without the token, a client can read only the bot's
// health.
func New(b Bot, token string, log zerolog.Logger) http.Handler {
	h := &handler{bot: b, guard: newGuard(token), log: log, registry: prometheus.NewRegistry()}
	h.requests = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "matrix_tui_http_requests_total", Help: "Requests to the HTTP API.",
	}, []string{"route", "code"})
	h.registry.MustRegister(h.requests, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	h.registry.MustRegister(b.Collectors()...)
	return h
}
