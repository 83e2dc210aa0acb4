package gateway

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestMount(t *testing.T) {
	leaks(t)
	var running, most atomic.Int64
	o := open(t, "http://127.0.0.1:1", nil)
	o.Mount("/echo", func(room string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			body, err := io.ReadAll(r.Body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
				return
			}
			time.Sleep(time.Millisecond)
			_, _ = io.WriteString(w, room+" "+string(body))
		})
	})
	for _, c := range []struct {
		method, path, body string
		want               int
		said               string
	}{
		{"POST", "/echo", "hello", 200, testRoom + " hello"},
		{"GET", "/echo?room=!other:x", "", 200, testRoom + " "},
		{"POST", "/echo", strings.Repeat("x", maxMounted+1), 413, "too large"},
		{"POST", "/echo/", "x", 404, "path not found"},
		{"POST", "/echo/../model", "x", 404, "path not found"},
		{"POST", "/Echo", "x", 404, "path not found"},
		{"POST", "/", "x", 404, "path not found"},
	} {
		resp, body := o.do(t, c.method, c.path, c.body, map[string]string{"Room": "!other:x"})
		if resp.StatusCode != c.want || !strings.Contains(body, c.said) {
			t.Errorf("%s %s: %d %.100s, want %d and %q", c.method, c.path, resp.StatusCode, body, c.want, c.said)
		}
	}

	// The requests of a room are answered one after the other.
	done := make(chan int, 20)
	for range cap(done) {
		go func() {
			resp, err := o.client.Post("http://x/echo", "", strings.NewReader("x"))
			if err != nil {
				done <- 0
				return
			}
			resp.Body.Close()
			done <- resp.StatusCode
		}()
	}
	for range cap(done) {
		if code := <-done; code != 200 {
			t.Errorf("one of many: %d", code)
		}
	}
	if most.Load() != 1 {
		t.Errorf("%d requests at once", most.Load())
	}

	// Without a run, the service does not exist.
	o.End(testRoom, "run")
	if resp, body := o.do(t, "POST", "/echo", "x", nil); resp.StatusCode != 403 || !strings.Contains(body, "no task is running") {
		t.Errorf("without a run: %d %s", resp.StatusCode, body)
	}
}

// A service that hangs, and a container that sends its request slowly, keep nobody waiting.
func TestMountDeadlines(t *testing.T) {
	leaks(t)
	ended := make(chan error, 2)
	o := open(t, "http://127.0.0.1:1", func(c *Config) { c.idle = 50 * time.Millisecond })
	o.Mount("/slow", func(string) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.Method == "GET" {
				<-r.Context().Done()
				ended <- r.Context().Err()
				return
			}
			_, err := io.ReadAll(r.Body)
			ended <- err
		})
	})
	o.do(t, "GET", "/slow", "", nil)
	if err := <-ended; err == nil {
		t.Error("the service was not told to stop")
	}
	c, err := o.connect()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("half a body was read without an error")
	}
}
