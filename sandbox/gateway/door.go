package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"
)

// door serves one room.
type door struct {
	g     *Gateway
	room  string
	ln    *listener
	http  *http.Server
	plain *relay // for plain HTTP; connections are never shared between rooms
	held  share  // of requests of plain HTTP
	proxy *httputil.ReverseProxy
	log   zerolog.Logger

	turn *semaphore.Weighted // of requests to mounted services

	ended chan error // of Serve

	live context.Context // of all requests
	kill context.CancelFunc

	mu      sync.Mutex
	closing bool
	active  int           // number of handlers
	asking  int           // how many of them serve a route or a mounted service
	quiet   chan struct{} // closed and replaced whenever a handler returns
}

func (g *Gateway) serve(room string, ln *net.UnixListener) *door {
	d := &door{g: g, room: room, turn: semaphore.NewWeighted(1), ended: make(chan error, 1), quiet: make(chan struct{})}
	d.log = g.cfg.Log.With().Str("room", room).Logger()
	d.plain = g.plainRelay()
	d.proxy = plainProxy(d.plain)
	d.held = newShare(ownPlain, maxPlain, g.plain)
	d.ln = &listener{UnixListener: ln, share: newShare(ownConns, maxConns, g.conns), idle: g.cfg.idle}
	d.ln.open, d.ln.end = context.WithCancel(context.Background())
	d.live, d.kill = context.WithCancel(context.Background())
	d.http = &http.Server{
		Handler:           d,
		BaseContext:       func(net.Listener) context.Context { return d.live },
		ReadHeaderTimeout: 30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxAsked,
		ErrorLog:          stdlog.New(io.Discard, "", 0), // it would log parts of requests
	}
	go func() { d.ended <- d.http.Serve(d.ln) }()
	return d
}

// ServeHTTP passes a request to the service that its form selects.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind, handle, asks := "none", d.refuse, false
	route := d.route(r.URL.Path)
	switch {
	case r.Method == http.MethodConnect:
		kind, handle = "connect", d.connect
	case r.URL.IsAbs():
		kind, handle = "http", d.forward
	case route != nil:
		kind, handle, asks = "route", route.ServeHTTP, true
	case d.g.offered != nil && r.URL.Path == d.g.attendPath:
		kind, handle = "attend", d.attend
	case d.g.services[r.URL.Path] != nil:
		kind, handle, asks = "service", d.mounted, true
	}
	if !d.enter(asks) {
		panic(http.ErrAbortHandler)
	}
	defer d.leave(asks)
	out := &status{ResponseWriter: w, code: http.StatusOK}
	begun := time.Now()
	defer func() {
		d.log.Debug().Str("kind", kind).Int("status", out.code).Dur("took", time.Since(begun)).Msg("gateway request")
	}()
	handle(out, r)
}

func (d *door) refuse(w http.ResponseWriter, _ *http.Request) {
	sendError(w, http.StatusNotFound, "path not found")
}

func (d *door) enter(asks bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closing {
		return false
	}
	d.active++
	if asks {
		d.asking++
	}
	return true
}

func (d *door) leave(asked bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.active--
	if asked {
		d.asking--
	}
	close(d.quiet)
	d.quiet = make(chan struct{})
}

// wait returns when idle() is true or ctx ends.
func (d *door) wait(ctx context.Context, idle func() bool) {
	for {
		d.mu.Lock()
		ok, quiet := idle(), d.quiet
		d.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-quiet:
		case <-ctx.Done():
			return
		}
	}
}

// close accepts nothing new, lets answers of routes and of mounted services finish
// until ctx ends, cuts the rest, and waits.
func (d *door) close(ctx context.Context) error {
	err := d.ln.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	d.mu.Lock()
	d.closing = true
	d.mu.Unlock()
	d.http.SetKeepAlivesEnabled(false)
	d.wait(ctx, func() bool { return d.asking == 0 })
	d.kill()
	d.http.Close()
	<-d.ended
	d.wait(context.Background(), func() bool { return d.active == 0 }) // all contexts and connections have ended
	d.plain.closeIdle()
	if err != nil {
		return fmt.Errorf("shut down gateway: %w", err)
	}
	return nil
}

// listen creates the socket. The socket gets its final name only when it is usable, and replaces the socket of an
// earlier gateway.
func listen(dir string) (*net.UnixListener, error) {
	path := filepath.Join(dir, "sock")
	if len(path) > maxPath {
		return nil, fmt.Errorf("gateway socket %s: the path has %d bytes, but a socket path has at most %d: choose a "+
			"shorter STATE_DIR", path, len(path), maxPath)
	}
	fresh := filepath.Join(dir, "new")
	if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("create gateway socket: %w", err)
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: fresh, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("create gateway socket: %w", err)
	}
	ln.SetUnlinkOnClose(false)
	if err = os.Chmod(fresh, 0o666); err == nil {
		err = os.Rename(fresh, path)
	}
	if err != nil {
		ln.Close()
		return nil, fmt.Errorf("create gateway socket: %w", err)
	}
	return ln, nil
}

// status records the status of an answer for the log.
type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

// Unwrap is for http.ResponseController.
func (s *status) Unwrap() http.ResponseWriter { return s.ResponseWriter }
