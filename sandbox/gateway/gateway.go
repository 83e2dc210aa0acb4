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
)

// Limits of what the bot holds for one room, and for all of them.
const (
	ownConns, maxConns, allConns = 16, 128, 512 // connections; more wait
	// Requests of plain HTTP that are being answered, each with its header; more wait.
	ownPlain, maxPlain, allPlain = 4, 32, 96

	maxPath   = 107              // bytes of a unix socket's path on Linux
	maxIdle   = 10 * time.Minute // without a byte in either direction
	maxDial   = 15 * time.Second // to reach an address
	maxUnread = 2 * time.Minute  // for the container to read on in an answer; a tunnel has maxIdle

	// Bytes of an answer's header, and of a request's, to which net/http adds 4 KB. In memory, a header of many short
	// lines takes up to 20 times as much.
	maxHeaders, maxAsked = 16 << 10, 4 << 10
)

// Config configures a Gateway.
type Config struct {
	Dir   string         // where the rooms' directories are made
	Ports []uint16       // that containers may connect to; nil = 80 and 443
	Deny  []netip.Prefix // of public addresses that containers may not connect to
	// ProxyNames lets the proxy that the environment names (HTTPS_PROXY, HTTP_PROXY, NO_PROXY) resolve names. Without it,
	// that proxy is asked for addresses that were judged here.
	ProxyNames bool
	Log        zerolog.Logger

	resolver  *net.Resolver         // for tests; nil = the host's
	reachable func(netip.Addr) bool // for tests, which use loopback; nil = public addresses only
	idle      time.Duration         // for tests, which do not wait ten minutes; 0 = maxIdle
}

// Gateway serves all rooms.
type Gateway struct {
	cfg     Config
	proxies func(*url.URL) (*url.URL, error) // of the host
	own     [2]atomic.Pointer[netip.Addr]    // see Own; IPv4, IPv6
	nodes   nodes                            // see Avoid

	mu     sync.Mutex
	doors  map[string]*door
	closed bool

	runsMu sync.Mutex                 // not mu: open waits for handlers while it holds mu, and they ask active
	runs   map[string]map[string]bool // by room: those that are active

	conns, plain chan struct{} // what rooms hold in common; see share

	services map[string]func(room string) http.Handler // by path: see Mount
	routes   map[string]func(room string) http.Handler // by prefix: see Route

	attendPath  string // see Attend
	attendField string
	offered     func(room string, conn net.Conn, value string)
}

// New returns a gateway that serves no room yet.
func New(cfg Config) *Gateway {
	if cfg.idle == 0 {
		cfg.idle = maxIdle
	}
	if cfg.Ports == nil {
		cfg.Ports = []uint16{80, 443}
	}
	if cfg.reachable == nil {
		cfg.reachable = foreign
	}
	return &Gateway{
		cfg: cfg, proxies: httpproxy.FromEnvironment().ProxyFunc(),
		doors: map[string]*door{}, runs: map[string]map[string]bool{},
		services: map[string]func(string) http.Handler{}, routes: map[string]func(string) http.Handler{},
		conns: make(chan struct{}, allConns), plain: make(chan struct{}, allPlain),
	}
}

// Open creates the room's directory, listens on the socket "sock" in it, and returns
// the directory, to be mounted into the room's container. If the room is already open,
// it only returns the directory.
func (g *Gateway) Open(room string) (dir string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open(room)
}

// Renew is Open with a new directory in place of the room's old one. What still runs in a container that is gone, and
// has the old one mounted, reaches nothing any more.
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
	g.doors[room] = g.serve(room, ln)
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

// Close ends all service. It accepts nothing new; answers of routes and services may finish until
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
	return errors.Join(all...)
}
