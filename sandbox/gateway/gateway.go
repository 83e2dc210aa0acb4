package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/net/http/httpproxy"
	"golang.org/x/sync/semaphore"
)

// Placeholder is the value of GEMINI_API_KEY in the container. It gives access to
// nothing.
const Placeholder = "placeholder-key-of-the-room"

// Limits of what the bot holds for one room, and for all of them.
const (
	ownConns, maxConns, allConns = 16, 128, 512        // connections; more wait
	ownPlain, maxPlain, allPlain = 4, 32, 96           // requests of plain HTTP that are being answered, each with its header; more wait
	ownBodies                    = 4 << 20             // bytes of requests to the model
	maxBody, allBodies           = 64 << 20, 128 << 20 // bytes of requests to the model
	maxUnknown                   = ownBodies           // the same, if the length is not known before
	maxAsks                      = 4                   // requests to the model that a room has at once; more wait

	maxPath   = 107              // bytes of a unix socket's path on Linux
	maxIdle   = 10 * time.Minute // without a byte in either direction
	maxDial   = 15 * time.Second // to reach an address
	maxSend   = time.Minute      // for a request to the model to arrive from the container
	maxUnread = 2 * time.Minute  // for the container to read on in an answer; a tunnel has maxIdle

	// Bytes of an answer's header, and of a request's, to which net/http adds 4 KB. In memory, a header of many short
	// lines takes up to 20 times as much.
	maxHeaders, maxAsked = 16 << 10, 4 << 10
)

// Config configures a Gateway.
type Config struct {
	Dir      string         // where the rooms' directories are made
	Upstream *url.URL       // base of the Gemini API; may be on loopback, the operator chose it
	Key      string         // the real API key
	Ports    []uint16       // that containers may connect to; nil = 80 and 443
	Deny     []netip.Prefix // of public addresses that containers may not connect to
	Tools    []string       // that run at the model's provider and may be used: google_search, url_context, …
	// ProxyNames lets the proxy that the environment names (HTTPS_PROXY, HTTP_PROXY, NO_PROXY) resolve names. Without it,
	// that proxy is asked for addresses that were judged here.
	ProxyNames bool
	Log        zerolog.Logger

	resolver  *net.Resolver         // for tests; nil = the host's
	reachable func(netip.Addr) bool // for tests, which use loopback; nil = public addresses only
	idle      time.Duration         // for tests, which do not wait ten minutes; 0 = maxIdle
	now       func() time.Time      // for tests; nil = time.Now
}

// String hides the key.
func (c Config) String() string { return fmt.Sprintf("gateway.Config{Dir: %s}", c.Dir) }

// GoString hides the key from %#v.
func (c Config) GoString() string { return c.String() }

// Gateway serves all rooms.
type Gateway struct {
	cfg     Config
	model   *http.Transport
	proxies func(*url.URL) (*url.URL, error) // of the host
	own     [2]atomic.Pointer[netip.Addr]    // see Own; IPv4, IPv6

	mu     sync.Mutex
	doors  map[string]*door
	usage  map[string]*meter
	closed bool

	runsMu sync.Mutex                   // not mu: open waits for handlers while it holds mu, and they ask permit
	runs   map[string]map[string]string // room → run → the model that it may use

	gates gates

	conns, plain chan struct{}       // what rooms hold in common; see share
	bodies       *semaphore.Weighted // bytes of requests to the model that are in memory

	services map[string]func(room string) http.Handler // see Mount

	attendPath  string // see Attend
	attendField string
	offered     func(room string, conn net.Conn, value string)

	allow func(ctx context.Context, room string, open int64) error // see Account
	spend func(room string, u Usage)
}

// Account sets the functions that bound and record what rooms use: allow is called before each request to the model and
// returns why there may be no more, as a sentence; open estimates the tokens of the room's requests that are not answered
// yet. spend is called after a request and may block. Call it before Open.
func (g *Gateway) Account(allow func(ctx context.Context, room string, open int64) error, spend func(room string, u Usage)) {
	g.allow, g.spend = allow, spend
}

// String hides the key.
func (g *Gateway) String() string { return fmt.Sprintf("gateway.Gateway{Dir: %s}", g.cfg.Dir) }

// GoString hides the key from %#v.
func (g *Gateway) GoString() string { return g.String() }

// New returns a gateway that serves no room yet.
func New(cfg Config) *Gateway {
	if cfg.idle == 0 {
		cfg.idle = maxIdle
	}
	if cfg.now == nil {
		cfg.now = time.Now
	}
	if cfg.Ports == nil {
		cfg.Ports = []uint16{80, 443}
	}
	if cfg.reachable == nil {
		cfg.reachable = foreign
	}
	return &Gateway{cfg: cfg, model: modelTransport(), proxies: httpproxy.FromEnvironment().ProxyFunc(), doors: map[string]*door{}, usage: map[string]*meter{}, runs: map[string]map[string]string{}, services: map[string]func(string) http.Handler{},
		gates: gates{now: cfg.now, models: map[string]*gate{}},
		conns: make(chan struct{}, allConns), plain: make(chan struct{}, allPlain), bodies: semaphore.NewWeighted(allBodies),
		allow: func(context.Context, string, int64) error { return nil }, spend: func(string, Usage) {}}
}

// Usage is a room's use of the model since the gateway started.
type Usage struct {
	Requests     int64 // sent to the model, including failed ones
	InputTokens  int64
	CachedTokens int64 // the part of InputTokens that the model had cached
	OutputTokens int64 // including thoughts
}

// Usage returns the room's usage; zero for an unknown room.
func (g *Gateway) Usage(room string) Usage {
	g.mu.Lock()
	m := g.usage[room]
	g.mu.Unlock()
	if m == nil {
		return Usage{}
	}
	return m.sum()
}

// LastPrompt returns how many tokens the prompt had that the model answered last in a room, since Begin; 0 if there is none.
func (g *Gateway) LastPrompt(room string) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if m := g.usage[room]; m != nil {
		return m.last.Load()
	}
	return 0
}

// LastFinish returns why the room's last stream ended, since Begin: its finishReason, or the blockReason of its prompt. It
// is "" if that is unknown.
func (g *Gateway) LastFinish(room string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if m := g.usage[room]; m != nil {
		reason, _ := m.finish.Load().(string)
		return reason
	}
	return ""
}

// Open creates the room's directory, listens on the socket "sock" in it, and returns
// the directory, to be mounted into the room's container. If the room is already open,
// it only returns the directory.
func (g *Gateway) Open(room string) (dir string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open(room)
}

// Renew is Open with a new directory in place of the room's old one. What still runs in a container that is gone, and has
// the old one mounted, reaches nothing any more.
func (g *Gateway) Renew(room string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := os.RemoveAll(g.Folder(room)); err != nil {
		return fmt.Errorf("remove gateway directory: %w", err)
	}
	_, err := g.open(room)
	return err
}

// open is Open. The caller holds the lock.
func (g *Gateway) open(room string) (dir string, err error) {
	if g.closed {
		return "", errors.New("gateway is closed")
	}
	dir = g.Folder(room)
	// Nobody else on this host may reach the sockets: who can connect to one uses the model as the room does. The
	// container mounts its own directory, so that must stay the same one; root in the container is another user here.
	if err := errors.Join(makeDir(g.cfg.Dir, 0o700), makeDir(dir, 0o755), mark(dir, room)); err != nil {
		return "", err
	}
	if old := g.doors[room]; old != nil {
		if _, err := os.Lstat(filepath.Join(dir, "sock")); err == nil {
			return dir, nil
		}
		// The socket was deleted, by Renew or from outside: nothing can connect to it any more.
		delete(g.doors, room)
		if err := old.close(ended()); err != nil {
			return "", err
		}
	}
	ln, err := listen(dir)
	if err != nil {
		return "", err
	}
	if g.usage[room] == nil {
		g.usage[room] = new(meter)
	}
	g.doors[room] = g.serve(room, ln, g.usage[room])
	return dir, nil
}

// Shut ends the room's service at once and closes its connections. The directory is
// kept, so that a container that has it mounted finds the socket again after the next
// Open. It is no error if the room is not open.
func (g *Gateway) Shut(room string) error {
	g.mu.Lock()
	d := g.doors[room]
	delete(g.doors, room)
	g.mu.Unlock()
	if d == nil {
		return nil
	}
	return d.close(ended())
}

// ended is a context that has already ended.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// Close ends all service. It accepts nothing new; answers of the model may finish until
// ctx ends. It returns when every goroutine of the gateway has ended.
func (g *Gateway) Close(ctx context.Context) error {
	g.mu.Lock()
	g.closed = true
	doors := g.doors
	g.doors = map[string]*door{}
	g.mu.Unlock()
	errs := make(chan error, len(doors))
	for _, d := range doors {
		go func() { errs <- d.close(ctx) }()
	}
	var all []error
	for range doors {
		all = append(all, <-errs)
	}
	g.model.CloseIdleConnections()
	return errors.Join(all...)
}
