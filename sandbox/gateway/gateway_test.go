package gateway

import (
	"bytes"
	"context"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/agent/agenttest"
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

// opened is a gateway with an open room, closed when the test ends.
type opened struct {
	*Gateway
	log    *logs
	path   string       // the room's directory
	client *http.Client // on the room's socket
}

func open(t testing.TB, upstream string, change func(*Config)) *opened {
	t.Helper()
	u, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	o := &opened{log: new(logs)}
	cfg := Config{Dir: t.TempDir(), Log: zerolog.New(o.log)}
	if change != nil {
		change(&cfg)
	}
	o.Gateway = New(cfg)
	t.Cleanup(func() { o.Close(ended()) })
	o.begin(u)
	if o.path, err = o.Open(testRoom); err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return o.connect() }}
	t.Cleanup(transport.CloseIdleConnections)
	o.client = &http.Client{Transport: transport}
	return o
}

// begin lets the room use what is mounted, and a model at an address, which answers as it likes.
func (o *opened) begin(model *url.URL) {
	proxy := httputil.NewSingleHostReverseProxy(model)
	proxy.FlushInterval, proxy.ErrorLog = -1, stdlog.New(io.Discard, "", 0)
	o.Route("/model/", func(string) http.Handler { return http.StripPrefix("/model", proxy) })
	o.Gateway.Begin(testRoom, "run")
}

func (o *opened) do(t testing.TB, method, path, body string, header map[string]string) (*http.Response, string) {
	t.Helper()
	req := must(http.NewRequest(method, "http://sandbox"+path, strings.NewReader(body)))
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := o.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp, string(data) + "<cut>"
	}
	return resp, string(data)
}

// stream is a request to the scripted model.
const stream = "/model/v1beta/models/gemini-3.1-pro-preview:streamGenerateContent?alt=sse"

func ask(text string) string {
	return `{"contents":[{"role":"user","parts":[{"text":"` + text + `"}]}]}`
}

func (o *opened) connect() (net.Conn, error) { return net.Dial("unix", filepath.Join(o.path, "sock")) }

// script is a scripted model.
func script(t testing.TB, rules string) string {
	t.Helper()
	s, err := agenttest.Load([]byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	model := agenttest.New(s, zerolog.Nop())
	hs := httptest.NewServer(model)
	t.Cleanup(hs.Close)
	t.Cleanup(model.Close)
	return hs.URL
}

// anywhere lets a test reach loopback through the proxy, on every port.
func anywhere(c *Config) {
	c.reachable = func(netip.Addr) bool { return true }
	everyPort(c)
}

func everyPort(c *Config) {
	for port := range 1 << 16 {
		c.Ports = append(c.Ports, uint16(port))
	}
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

func TestOpen(t *testing.T) {
	leaks(t)
	o := open(t, script(t, "rules: []"), nil)
	for path, want := range map[string]os.FileMode{o.path: os.ModeDir | 0o755, filepath.Join(o.path, "sock"): os.ModeSocket | 0o666} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s has mode %v, %v; want %v", path, info.Mode(), err, want)
		}
	}
	if name := filepath.Base(o.path); len(name) != 16 {
		t.Errorf("directory %s", name)
	}
	before, _ := os.Stat(o.path)
	if dir, err := o.Open(testRoom); err != nil || dir != o.path {
		t.Errorf("second Open: %s, %v", dir, err)
	}
	if err := o.Shut(testRoom); err != nil {
		t.Error(err)
	}
	if c, err := o.connect(); err == nil {
		c.Close()
		t.Error("a shut room accepts connections")
	}
	if err := o.Shut(testRoom); err != nil {
		t.Errorf("second Shut: %v", err)
	}
	if _, err := o.Open(testRoom); err != nil {
		t.Fatal(err)
	}
	after, _ := os.Stat(o.path)
	if !os.SameFile(before, after) {
		t.Error("the directory was replaced: containers that have it mounted are cut off")
	}
	if resp, err := o.client.Get("http://sandbox/model/v1beta/models"); err != nil || resp.StatusCode != 200 {
		t.Errorf("after a new Open: %v", err)
	} else {
		resp.Body.Close()
	}
	other, err := o.Open("!other:example.org")
	if err != nil || other == o.path {
		t.Errorf("another room's directory is %s, %v", other, err)
	}
}

// The socket that an earlier gateway left behind after kill -9 does no harm.
func TestOpenOverLeftovers(t *testing.T) {
	o := open(t, "http://127.0.0.1:1", nil)
	if err := o.Close(ended()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.path, "new"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(o.path, "sock")); err != nil {
		t.Fatalf("nothing was left behind: %v", err)
	}
	next := New(o.cfg)
	t.Cleanup(func() { next.Close(ended()) })
	if _, err := next.Open(testRoom); err != nil {
		t.Fatal(err)
	}
	if c, err := o.connect(); err != nil {
		t.Error(err)
	} else {
		c.Close()
	}
	// A gateway whose directory was removed creates it again.
	if err := os.RemoveAll(o.path); err != nil {
		t.Fatal(err)
	}
	if _, err := next.Open(testRoom); err != nil {
		t.Fatal(err)
	}
	if c, err := o.connect(); err != nil {
		t.Error(err)
	} else {
		c.Close()
	}
}

func TestOpenRefuses(t *testing.T) {
	g := New(Config{Dir: filepath.Join(t.TempDir(), strings.Repeat("d", 100))})
	if _, err := g.Open(testRoom); err == nil || !strings.Contains(err.Error(), "STATE_DIR") {
		t.Errorf("a path too long for a socket: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Config{Dir: file}).Open(testRoom); err == nil {
		t.Error("a file was accepted as a directory")
	}
	g = New(Config{Dir: t.TempDir()})
	if err := g.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Open(testRoom); err == nil {
		t.Error("a closed gateway opened a room")
	}
}

func must(r *http.Request, err error) *http.Request {
	if err != nil {
		panic(err)
	}
	return r
}

// Other users of the host cannot reach the sockets, also where the folder is older
// than that rule.
func TestSocketsArePrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gateway")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	g := New(Config{Dir: dir, Log: zerolog.Nop()})
	t.Cleanup(func() { _ = g.Close(context.Background()) })
	if _, err := g.Open(testRoom); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}
