package gemini

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/agent/agenttest"
	"matrix-tui/sandbox/gateway"
)

const testRoom = "!room:example.org"

// logs is a log that a test may read while it is being written.
type logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// opened is a route with a gateway and an open room, closed when the test ends.
type opened struct {
	*Route
	door   *gateway.Gateway
	log    *logs
	client *http.Client // on the room's socket

	guard sync.Mutex
	used  map[string]Usage // by room, unless a test has called Account
}

func open(t testing.TB, base string, change func(*RouteConfig)) *opened {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	o := &opened{log: new(logs), used: map[string]Usage{}}
	cfg := RouteConfig{Base: u, Key: testKey, Log: zerolog.New(o.log)}
	if change != nil {
		change(&cfg)
	}
	o.door = gateway.New(gateway.Config{Dir: t.TempDir(), Log: zerolog.New(o.log)})
	o.Route = NewRoute(cfg, o.door)
	o.Account(o.Route.allow, func(room string, u Usage) {
		o.guard.Lock()
		defer o.guard.Unlock()
		o.used[room] = sum(o.used[room], u)
	})
	t.Cleanup(func() { o.close(t) })
	o.Begin(testRoom, "run", "gemini-3.1-pro-preview")
	o.Begin(testRoom, "other", "m")
	dir, err := o.door.Open(testRoom)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", filepath.Join(dir, "sock"))
	}}
	t.Cleanup(transport.CloseIdleConnections)
	o.client = &http.Client{Transport: transport}
	return o
}

// close ends all service at once, and returns when everything is counted.
func (o *opened) close(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := o.door.Close(ctx); err != nil {
		t.Error(err)
	}
	o.Route.Close()
}

// usage is what a room has used so far.
func (o *opened) usage(room string) Usage {
	o.counting.Wait()
	o.guard.Lock()
	defer o.guard.Unlock()
	return o.used[room]
}

func sum(a, b Usage) Usage {
	return Usage{a.Requests + b.Requests, a.InputTokens + b.InputTokens, a.CachedTokens + b.CachedTokens, a.OutputTokens + b.OutputTokens}
}

// script is a scripted model that accepts only testKey.
func script(t testing.TB, rules string) string {
	t.Helper()
	s, err := agenttest.Load([]byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	model := agenttest.New(s, zerolog.Nop())
	model.RequireKey(testKey)
	hs := httptest.NewServer(model)
	t.Cleanup(hs.Close)
	t.Cleanup(model.Close)
	return hs.URL
}

// leaks fails the test if it ends with more goroutines than it started with.
func leaks(t *testing.T) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		for until := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
			if time.Now().After(until) {
				buf := make([]byte, 1<<20)
				t.Errorf("%d goroutines became %d:\n%s", before, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
				return
			}
		}
	})
}

func must(r *http.Request, err error) *http.Request {
	if err != nil {
		panic(err)
	}
	return r
}
