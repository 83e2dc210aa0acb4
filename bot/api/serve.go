package api

import (
	"context"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/net/netutil"
)

// Limits for all connections.
const (
	maxConns   = 256 // at once; more wait
	headerTime = 5 * time.Second
	readTime   = 30 * time.Second // header and body
	writeTime  = time.Minute      // including the work in between
	idleTime   = 2 * time.Minute
	graceTime  = 3 * time.Second // for requests in progress when the bot ends
)

// Serve serves ln until ctx ends, gives active requests three seconds to finish, and
// returns when no handler is running. It closes ln. It returns nil if ctx ended it. The log says said with the address.
func Serve(ctx context.Context, ln net.Listener, h http.Handler, said string, log zerolog.Logger) error {
	live, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	var active sync.RWMutex // read by each request: a closed server does not wait for its handlers
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !active.TryRLock() {
				panic(http.ErrAbortHandler) // the server has ended
			}
			defer active.RUnlock()
			h.ServeHTTP(w, r)
		}),
		BaseContext:       func(net.Listener) context.Context { return live },
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       readTime,
		WriteTimeout:      writeTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          stdlog.New(io.Discard, "", 0), // it would log parts of requests
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(netutil.LimitListener(ln, maxConns)) }()
	log.Info().Str("address", ln.Addr().String()).Msg(said)

	var err error
	select {
	case <-ctx.Done():
		grace, cancel := context.WithTimeout(live, graceTime)
		_ = server.Shutdown(grace) // the rest is cut below
		cancel()
		_ = server.Close()
		<-ended
	case err = <-ended:
		err = fmt.Errorf("serve HTTP on %s: %w", ln.Addr(), err)
		_ = server.Close()
	}
	kill()
	active.Lock() // for good
	return err
}
