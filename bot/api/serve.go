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
)

// Limits for all connections.
const (
	maxConns   = 128 // at once; more wait
	headerTime = 5 * time.Second
	readTime   = 30 * time.Second // header and body
	writeTime  = time.Minute      // including the work in between
	idleTime   = 2 * time.Minute
	graceTime  = 3 * time.Second // for requests in progress when the bot ends
)

// Serve serves ln until ctx ends, gives active requests three seconds to finish, and
// returns when no handler is running. It closes ln. It returns nil if ctx ended it.
func Serve(ctx context.Context, ln net.Listener, h http.Handler, log zerolog.Logger) error {
	live, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	all := &joined{Handler: h}
	server := &http.Server{
		Handler:           all,
		BaseContext:       func(net.Listener) context.Context { return live },
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       readTime,
		WriteTimeout:      writeTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          stdlog.New(io.Discard, "", 0), // it would log parts of requests
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(newBounded(ln, maxConns)) }()
	log.Info().Str("address", ln.Addr().String()).Msg("listening")

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
	all.wait()
	return err
}

// joined counts active requests, because a closed server does not wait for its
// handlers.
type joined struct {
	http.Handler
	mu    sync.Mutex
	ended bool
	work  sync.WaitGroup
}

func (j *joined) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	j.mu.Lock()
	if j.ended {
		j.mu.Unlock()
		panic(http.ErrAbortHandler)
	}
	j.work.Add(1)
	j.mu.Unlock()
	defer j.work.Done()
	j.Handler.ServeHTTP(w, r)
}

// wait accepts no more requests and returns when the last one has ended.
func (j *joined) wait() {
	j.mu.Lock()
	j.ended = true
	j.mu.Unlock()
	j.work.Wait()
}
