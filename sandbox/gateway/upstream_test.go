package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// hostProxy is a proxy of the host, in front of a server that stands for all others.
type hostProxy struct {
	*httptest.Server
	sync.Mutex
	asked  []string // method, target and credentials of each request
	refuse bool
}

// newHostProxy starts a proxy and sets the variables that name it. Its origin shouts, or answers a GET.
func newHostProxy(t *testing.T) *hostProxy {
	p, origin := &hostProxy{}, server(t, func(c *net.TCPConn) {
		r := bufio.NewReader(c)
		if begin, _ := r.Peek(3); string(begin) == "GET" {
			io.WriteString(c, "HTTP/1.0 200 OK\r\n\r\nplain")
			return
		}
		all, _ := io.ReadAll(r)
		io.WriteString(c, strings.ToUpper(string(all)))
	})
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.Lock()
		p.asked = append(p.asked, strings.TrimSpace(r.Method+" "+r.RequestURI+" "+r.Header.Get("Proxy-Authorization")))
		p.Unlock()
		if r.Method != http.MethodConnect {
			fmt.Fprint(w, "plain")
			return
		}
		if p.refuse {
			http.Error(w, "", http.StatusForbidden)
			return
		}
		far, err := net.Dial("tcp", origin)
		if err != nil {
			t.Error(err)
			return
		}
		defer far.Close()
		near, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer near.Close()
		io.WriteString(near, "HTTP/1.1 200 OK\r\nVia: a proxy\r\n\r\n")
		pipe(near, far, maxIdle)
	}))
	t.Cleanup(p.Close)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, strings.Replace(p.URL, "//", "//user:pass@", 1))
	}
	t.Setenv("NO_PROXY", "direct.test,127.0.0.1")
	t.Setenv("no_proxy", "")
	return p
}

func (p *hostProxy) seen() []string {
	p.Lock()
	defer p.Unlock()
	return slices.Clone(p.asked)
}

// names is a resolver that knows a few names, "" = none.
func names(t *testing.T, known map[string]string) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan bool)
	t.Cleanup(func() { conn.Close(); <-ended })
	go func() {
		defer close(ended)
		for b := make([]byte, 1500); ; {
			n, from, err := conn.ReadFrom(b)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(b[:n]) != nil {
				continue
			}
			m.Response = true
			q := m.Questions[0]
			addresses, ok := known[strings.TrimSuffix(q.Name.String(), ".")]
			if !ok {
				m.RCode = dnsmessage.RCodeNameError
			}
			for _, text := range strings.Fields(addresses) {
				header := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
				switch a := netip.MustParseAddr(text); {
				case a.Is4() && q.Type == dnsmessage.TypeA:
					m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: a.As4()}})
				case a.Is6() && q.Type == dnsmessage.TypeAAAA:
					m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
				}
			}
			m.Additionals = nil
			out, err := m.Pack()
			if err != nil {
				t.Error(err)
			}
			conn.WriteTo(out, from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

var someNames = map[string]string{
	"public.test": "2606:2800:21f:cb07::1 93.184.215.14", "inner.test": "10.0.0.1", "both.test": "10.0.0.1 93.184.215.14",
	"six.test": "::1", "direct.test": "127.0.0.1",
}

// On a host with a proxy, containers get out through it. What they reach is judged here.
func TestHostProxy(t *testing.T) {
	for _, c := range []struct {
		address string
		byName  bool
		want    string // what the proxy is asked for, "" = nothing
	}{
		{"public.test:443", false, "93.184.215.14:443"},
		{"public.test:443", true, "public.test:443"},
		{"both.test:443", false, "93.184.215.14:443"},
		{"both.test:443", true, ""},
		{"inner.test:443", false, ""},
		{"inner.test:443", true, ""},
		{"10.0.0.1:443", true, ""},
		{"127.0.0.1:443", true, ""},
		{"93.184.215.14:443", true, "93.184.215.14:443"},
		{"[2606:2800:21f:cb07::1]:443", false, "[2606:2800:21f:cb07::1]:443"},
		{"unknown.test:443", false, ""},
		{"unknown.test:443", true, "unknown.test:443"},
		{"intranet:443", true, ""},
		{"127.1:443", true, ""},
		{"0x7f.0x1:443", true, ""},
	} {
		t.Run(fmt.Sprint(c.address, c.byName), func(t *testing.T) {
			p := newHostProxy(t)
			o := open(t, "http://127.0.0.1:1", func(cfg *Config) { cfg.resolver, cfg.ProxyNames = names(t, someNames), c.byName })
			conn, r, resp := o.tunnel(t, c.address, "early, ")
			if c.want == "" {
				if resp.StatusCode != http.StatusForbidden || len(p.seen()) > 0 {
					t.Errorf("%s, and the proxy was asked for %q", resp.Status, p.seen())
				}
				return
			}
			io.WriteString(conn, "late")
			conn.(*net.UnixConn).CloseWrite()
			if got, err := io.ReadAll(r); string(got) != "EARLY, LATE" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
			if want := []string{"CONNECT " + c.want + " Basic dXNlcjpwYXNz"}; !slices.Equal(p.seen(), want) {
				t.Errorf("the proxy was asked for %q, want %q", p.seen(), want)
			}
		})
	}
}

// A plain request goes through a tunnel to the judged address, or as it is.
func TestHostProxyPlain(t *testing.T) {
	for byName, want := range map[bool][]string{
		false: {"CONNECT 93.184.215.14:80 Basic dXNlcjpwYXNz"},
		true:  {"GET http://public.test/a?b Basic dXNlcjpwYXNz"},
	} {
		p := newHostProxy(t)
		o := open(t, "http://127.0.0.1:1", func(cfg *Config) { cfg.resolver, cfg.ProxyNames = names(t, someNames), byName })
		for _, request := range []string{"http://public.test/a?b", "http://inner.test/"} {
			c, err := o.connect()
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: 10.0.0.1\r\nConnection: close\r\n\r\n", request)
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if want := map[bool]int{true: http.StatusForbidden, false: http.StatusOK}[strings.Contains(request, "inner")]; err != nil || resp.StatusCode != want {
				t.Errorf("%s, by name %v: %v, %v, want %d", request, byName, resp, err, want)
			}
			c.Close()
		}
		if got := p.seen(); !slices.Equal(got, want) {
			t.Errorf("by name %v: the proxy was asked for %q, want %q", byName, got, want)
		}
	}
}

func TestHostProxyRefuses(t *testing.T) {
	p := newHostProxy(t)
	p.refuse = true
	o := open(t, "http://127.0.0.1:1", func(cfg *Config) { cfg.resolver = names(t, someNames) })
	_, _, resp := o.tunnel(t, "public.test:443", "")
	if said, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusBadGateway || !strings.Contains(string(said), "proxy refused the connection: 403 Forbidden") {
		t.Errorf("%s: %s", resp.Status, said)
	}
}

// NO_PROXY names what is reached directly, and a name may have an IPv6 address only.
func TestHostProxyExceptions(t *testing.T) {
	p := newHostProxy(t)
	t.Setenv("NO_PROXY", "direct.test,six.test")
	ln, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Fatal(err)
	}
	six := &httptest.Server{Listener: ln, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "six") })}}
	six.Start()
	t.Cleanup(six.Close)
	o := open(t, "http://127.0.0.1:1", func(cfg *Config) { anywhere(cfg); cfg.resolver = names(t, someNames) })
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	_, r, resp := o.tunnel(t, "six.test:"+port, "GET / HTTP/1.0\r\n\r\n")
	if got, err := io.ReadAll(r); resp.StatusCode != 200 || !strings.HasSuffix(string(got), "six") {
		t.Errorf("%s: %q, %v", resp.Status, got, err)
	}
	_, port, _ = net.SplitHostPort(server(t, shout))
	if _, _, resp := o.tunnel(t, "direct.test:"+port, ""); resp.StatusCode != 200 || len(p.seen()) > 0 {
		t.Errorf("%s; the proxy was asked for %q", resp.Status, p.seen())
	}
}
