package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// tunnel opens a tunnel, sends early together with the request, and returns everything it can read after the answer.
func (o *opened) tunnel(t *testing.T, address, early string) (net.Conn, *bufio.Reader, *http.Response) {
	t.Helper()
	c, err := o.connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(5 * time.Minute))
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n%s", address, address, early)
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, &http.Request{Method: "CONNECT"})
	if err != nil {
		t.Fatal(err)
	}
	return c, r, resp
}

// server accepts one connection at a time and calls serve with it.
func server(t *testing.T, serve func(*net.TCPConn)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan bool)
	t.Cleanup(func() { ln.Close(); <-done })
	go func() {
		defer close(done)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			serve(c.(*net.TCPConn))
			c.Close()
		}
	}()
	return ln.Addr().String()
}

// shout reads to the end, then answers: one side's end must be passed on while the other direction stays open.
func shout(c *net.TCPConn) {
	all, _ := io.ReadAll(c)
	io.WriteString(c, strings.ToUpper(string(all)))
}

func TestTunnel(t *testing.T) {
	leaks(t)
	o := open(t, "http://127.0.0.1:1", anywhere)
	c, r, resp := o.tunnel(t, server(t, shout), "early, ")
	if resp.StatusCode != 200 {
		t.Fatalf("%v", resp)
	}
	io.WriteString(c, "late")
	c.(*net.UnixConn).CloseWrite()
	if got, err := io.ReadAll(r); string(got) != "EARLY, LATE" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestTunnelRefuses(t *testing.T) {
	asked := make(chan bool, 10)
	address := server(t, func(*net.TCPConn) { asked <- true })
	o := open(t, "http://127.0.0.1:1", nil)
	_, port, _ := net.SplitHostPort(address)
	for target, want := range map[string]int{
		address: 403, "localhost:" + port: 403, "[::1]:" + port: 403, "[::ffff:127.0.0.1]:" + port: 403, "0.0.0.0:" + port: 403,
		"169.254.169.254:80": 403, "8.8.8.8:25": 403, "8.8.8.8:0": 400, "8.8.8.8": 400, "name.invalid:443": 502,
	} {
		_, _, resp := o.tunnel(t, target, "")
		if resp.StatusCode != want {
			t.Errorf("CONNECT %s: %d, want %d", target, resp.StatusCode, want)
		}
	}
	if len(asked) != 0 {
		t.Error("a loopback address was reached")
	}
}

func TestTunnelEnds(t *testing.T) {
	leaks(t)
	silent := func(c *net.TCPConn) { io.Copy(io.Discard, c) }
	t.Run("idle", func(t *testing.T) {
		o := open(t, "http://127.0.0.1:1", func(c *Config) { anywhere(c); c.idle = 100 * time.Millisecond })
		_, r, _ := o.tunnel(t, server(t, silent), "")
		if _, err := r.ReadByte(); err == nil {
			t.Error("a byte that nobody sent")
		}
	})
	t.Run("shut", func(t *testing.T) {
		o := open(t, "http://127.0.0.1:1", anywhere)
		_, r, _ := o.tunnel(t, server(t, silent), "")
		if err := o.Shut(testRoom); err != nil {
			t.Error(err)
		}
		if _, err := r.ReadByte(); err == nil {
			t.Error("a byte that nobody sent")
		}
	})
	t.Run("close does not wait for tunnels", func(t *testing.T) {
		o := open(t, "http://127.0.0.1:1", anywhere)
		o.tunnel(t, server(t, silent), "")
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		if err := o.Close(ctx); err != nil || ctx.Err() != nil {
			t.Errorf("%v, %v", err, ctx.Err())
		}
	})
}

// proxied sends a request in absolute form.
func (o *opened) proxied(t *testing.T, raw string) (*http.Response, string) {
	t.Helper()
	c, err := o.connect()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(5 * time.Minute))
	io.WriteString(c, raw)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(data)
}

func TestPlainHTTP(t *testing.T) {
	leaks(t)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
			return
		}
		fmt.Fprintf(w, "%s %s host=%s body=%s proxy=%s%s upgrade=%s from=%s", r.Method, r.URL, r.Host, body, r.Header.Get("Proxy-Authorization"), r.Header.Get("Proxy-Connection"), r.Header.Get("Upgrade"), r.Header.Get("X-Forwarded-For"))
	}))
	defer web.Close()
	host := strings.TrimPrefix(web.URL, "http://")
	o := open(t, "http://127.0.0.1:1", anywhere)
	resp, body := o.proxied(t, "POST "+web.URL+"/a%2Fb?q=1 HTTP/1.1\r\nHost: elsewhere\r\nProxy-Authorization: x\r\nProxy-Connection: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 5\r\n\r\nhello")
	if want := "POST /a%2Fb?q=1 host=" + host + " body=hello proxy= upgrade= from="; resp.StatusCode != 200 || body != want {
		t.Errorf("%d %q, want %q", resp.StatusCode, body, want)
	}
	if resp, _ = o.proxied(t, "GET "+web.URL+"/away HTTP/1.1\r\nHost: x\r\n\r\n"); resp.StatusCode != 302 {
		t.Errorf("the container must follow a redirection itself: %v", resp)
	}
	if resp, _ = o.proxied(t, "GET https://"+host+"/ HTTP/1.1\r\nHost: x\r\n\r\n"); resp.StatusCode != 400 {
		t.Errorf("https in absolute form: %v", resp)
	}
	if resp, _ = o.proxied(t, "GET http://"+strings.Split(host, ":")[0]+":25/ HTTP/1.1\r\nHost: x\r\n\r\n"); resp.StatusCode != 403 {
		t.Errorf("port 25: %v", resp)
	}
}

func TestPlainHTTPRefuses(t *testing.T) {
	reached := false
	web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer web.Close()
	o := open(t, web.URL, nil)
	port := web.URL[strings.LastIndex(web.URL, ":")+1:]
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"} {
		resp, body := o.proxied(t, "GET http://"+host+":"+port+"/model/v1beta/models HTTP/1.1\r\nHost: x\r\n\r\n")
		if resp.StatusCode != 403 || strings.Contains(body, "127.0.0.1") {
			t.Errorf("%s: %d %s", host, resp.StatusCode, body)
		}
	}
	if reached {
		t.Error("a loopback address was reached")
	}
}

func TestPlainHTTPSilence(t *testing.T) {
	leaks(t)
	o := open(t, "http://127.0.0.1:1", func(c *Config) { anywhere(c); c.idle = 100 * time.Millisecond })
	address := server(t, func(c *net.TCPConn) { io.Copy(io.Discard, c) })
	if resp, _ := o.proxied(t, "GET http://"+address+"/ HTTP/1.1\r\nHost: x\r\n\r\n"); resp.StatusCode != 504 {
		t.Errorf("%v", resp)
	}
}
