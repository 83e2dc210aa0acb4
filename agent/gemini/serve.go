package gemini

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"

	"matrix-tui/sandbox/gateway"
)

// Prefix is where the API is on a room's gateway.
const Prefix = "/model/"

// Limits of what the bot holds for one room, and for all of them.
const (
	ownBodies          = 4 << 20             // bytes of requests that other rooms cannot take
	maxBody, allBodies = 64 << 20, 128 << 20 // bytes of requests
	maxUnknown         = ownBodies           // the same, if the length is not known before
	maxAsks            = 4                   // requests that a room has at once; more wait

	maxIdle    = 10 * time.Minute // without a byte from the API
	maxDial    = 15 * time.Second
	maxSend    = time.Minute // for a request to arrive from the container
	maxHeaders = 16 << 10    // bytes of an answer's header
)

// RouteConfig configures a Route.
type RouteConfig struct {
	Base  *url.URL // of the API; may be on loopback, the operator chose it
	Key   string   // the real one
	Tools []string // that run at Google and may be used: google_search, url_context, …
	Log   zerolog.Logger

	idle time.Duration    // for tests, which do not wait ten minutes; 0 = maxIdle
	now  func() time.Time // for tests; nil = time.Now
}

// String hides the key.
func (c RouteConfig) String() string { return fmt.Sprintf("gemini.RouteConfig{Base: %s}", c.Base) }

// GoString hides the key from %#v.
func (c RouteConfig) GoString() string { return c.String() }

// Route lets rooms use the API through their gateways, with the key added on this side. It never reaches a container:
// not in an answer, not in an error, not in a header. Only listing models, generating, counting tokens and embedding
// are allowed, for the model of a run that is active, and tools that run at Google only if they are configured: they
// are billed per use. The route logs nothing of what a request says.
//
// It may disappear at any moment (an update, a crash) and come back while a run continues in the container. Gemini CLI
// retries a streaming answer that was cut, because such answers end with their connection: a cut looks to the CLI like
// a model that stopped too early. If a chunked answer ended in the middle, the run would end (measured with 0.61.0).
type Route struct {
	cfg      RouteConfig
	gateway  *gateway.Gateway
	out      *http.Transport
	bodies   *semaphore.Weighted // bytes of requests that are in memory
	gates    gates
	counting sync.WaitGroup // calls of spend

	mu    sync.Mutex
	rooms map[string]*room

	allow func(ctx context.Context, room string, open int64) error // see Account
	spend func(room string, u Usage)
}

// room is what the route knows of one.
type room struct {
	*Route
	id  string
	log zerolog.Logger

	held *semaphore.Weighted // bytes of requests that are in memory
	own  *semaphore.Weighted // the part of them that other rooms cannot take
	asks *semaphore.Weighted // requests
	open atomic.Int64        // tokens of those that are not answered yet, estimated

	models map[string]string // run → the model that it may use; mu is held
	last   atomic.Int64      // see LastPrompt
	finish atomic.Value      // string; see LastFinish
}

// Usage is what a request has used.
type Usage struct {
	Requests     int64 // sent to the API, including failed ones
	InputTokens  int64
	CachedTokens int64 // the part of InputTokens that the model had cached
	OutputTokens int64 // including thoughts
}

// NewRoute gives the rooms of a gateway a route to the API.
func NewRoute(cfg RouteConfig, g *gateway.Gateway) *Route {
	if cfg.idle == 0 {
		cfg.idle = maxIdle
	}
	if cfg.now == nil {
		cfg.now = time.Now
	}
	r := &Route{
		cfg: cfg, gateway: g, bodies: semaphore.NewWeighted(allBodies), rooms: map[string]*room{},
		gates: gates{now: cfg.now, models: map[string]*gate{}},
		allow: func(context.Context, string, int64) error { return nil }, spend: func(string, Usage) {},
		out: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment, // the operator's proxy, not the container's
			DialContext:           (&net.Dialer{Timeout: maxDial, KeepAlive: 30 * time.Second}).DialContext,
			ForceAttemptHTTP2:     true,
			TLSHandshakeTimeout:   maxDial,
			ExpectContinueTimeout: time.Second,
			IdleConnTimeout:       time.Minute,
			MaxIdleConnsPerHost:   32,
			DisableCompression:    true, // a compressed stream arrives in bursts

			MaxResponseHeaderBytes: maxHeaders,
		},
	}
	g.Route(Prefix, func(id string) http.Handler { return http.HandlerFunc(r.of(id).ask) })
	return r
}

// String hides the key.
func (r *Route) String() string { return r.cfg.String() }

// GoString hides the key from %#v.
func (r *Route) GoString() string { return r.String() }

// Close returns when all that was used is recorded. Close the gateway first.
func (r *Route) Close() {
	r.counting.Wait()
	r.out.CloseIdleConnections()
}

// Account sets the functions that bound and record what rooms use: allow is called before each request and returns why
// there may be no more, as a sentence; open estimates the tokens of the room's requests that are not answered yet.
// spend is called after a request and may block. Call it before the gateway opens a room.
func (r *Route) Account(
	allow func(ctx context.Context, room string, open int64) error, spend func(room string, u Usage),
) {
	r.allow, r.spend = allow, spend
}

// of returns a room.
func (r *Route) of(id string) *room {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rooms[id] == nil {
		r.rooms[id] = &room{
			Route: r, id: id, log: r.cfg.Log.With().Str("room", id).Logger(), models: map[string]string{},
			held: semaphore.NewWeighted(maxBody), own: semaphore.NewWeighted(ownBodies), asks: semaphore.NewWeighted(maxAsks),
		}
	}
	return r.rooms[id]
}

// Begin lets a room use one model while a run is active, and what the gateway offers besides. A room may have several
// runs; beginning one again only changes its model. A run that outlived the bot begins before the room is opened, or
// its requests would be refused.
func (r *Route) Begin(id, run, model string) {
	room := r.of(id)
	r.mu.Lock()
	room.models[run] = Bare(model)
	r.mu.Unlock()
	room.last.Store(0)
	room.finish.Store("")
	r.gateway.Begin(id, run)
}

// End ends what Begin began. Answers in progress are not cut. It is no error if the run has not begun.
func (r *Route) End(id, run string) {
	r.gateway.End(id, run)
	room := r.of(id)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(room.models, run)
}

// The agent shows the reasons for refusing a request to the room, so they are sentences.
var errNoRun = errors.New("no task is running in this room")

// permitted returns why the room may not use a model now, or nil; "" is no model in particular.
func (r *room) permitted(model string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.models) == 0 {
		return errNoRun
	}
	for _, allowed := range r.models {
		if model == "" || Base(model) == allowed || model == allowed {
			return nil
		}
	}
	return fmt.Errorf("the model %s is not configured for this room", model)
}

// LastPrompt returns how many tokens the prompt had that the model answered last in a room, since Begin; 0 if there is
// none.
func (r *Route) LastPrompt(id string) int64 { return r.of(id).last.Load() }

// LastFinish returns why the room's last stream ended, since Begin: its finishReason, or the blockReason of its prompt.
// It is "" if that is unknown.
func (r *Route) LastFinish(id string) string {
	reason, _ := r.of(id).finish.Load().(string)
	return reason
}
