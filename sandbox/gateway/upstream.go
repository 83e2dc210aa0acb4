package gateway

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// refusal is the answer of the host's proxy to a CONNECT.
type refusal struct{ status string }

// Error may be shown to the container.
func (e *refusal) Error() string { return "the host's proxy refused the connection: " + e.status }

// via returns the proxy of the host through which an address is reached, nil = none.
func (g *Gateway) via(scheme, address string) (*url.URL, error) {
	u, err := g.proxies(&url.URL{Scheme: scheme, Host: address})
	if err != nil {
		return nil, fmt.Errorf("read HTTP_PROXY, HTTPS_PROXY: %w", err)
	}
	return u, nil
}

// way returns the function that connects to the targets of requests with a scheme: directly, or through the host's
// proxy.
func (g *Gateway) way(scheme string) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		proxy, err := g.via(scheme, address)
		if err != nil {
			return nil, err
		}
		if proxy == nil {
			return g.dial(ctx, network, address)
		}
		ctx, cancel := context.WithTimeout(ctx, maxDial)
		defer cancel()
		targets, err := g.judge(ctx, address)
		if err != nil {
			return nil, err
		}
		for _, target := range targets {
			var far net.Conn
			if far, err = tunnelThrough(ctx, proxy, target); err == nil {
				return far, nil
			}
		}
		return nil, err
	}
}

// judge returns what the host's proxy is asked for in place of an address: the allowed addresses that the name has
// here, so that what is judged is what is dialled. With ProxyNames it is the name itself, unless it has a forbidden
// address here; what the name means is then up to the proxy.
func (g *Gateway) judge(ctx context.Context, address string) ([]string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("judge address: %w", err)
	}
	_, notLiteral := netip.ParseAddr(host)
	found, err := g.cfg.resolver.LookupNetIP(ctx, "ip", host)
	byName := g.cfg.ProxyNames && notLiteral != nil
	if err != nil && (!byName || !isDomain(host)) {
		return nil, err
	}
	var allowed []string
	for _, ip := range found {
		to, err := netip.ParseAddrPort(net.JoinHostPort(ip.Unmap().String(), port))
		if err == nil && g.allowed(to) {
			allowed = append(allowed, to.String())
		}
	}
	switch {
	case byName && len(allowed) == len(found):
		return []string{address}, nil
	case byName || len(allowed) == 0:
		return nil, errNotPublic
	}
	slices.SortStableFunc(allowed,
		func(a, b string) int { return strings.Count(a, "[") - strings.Count(b, "[") }) // IPv4 first
	return allowed[:min(len(allowed), 3)], nil
}

// isDomain reports whether a name can only be a domain name: with a dot, and not an address in an odd notation (127.1).
func isDomain(name string) bool {
	name = strings.TrimSuffix(name, ".")
	last := name[strings.LastIndexByte(name, '.')+1:]
	return last != name && last != "" && (last[0] < '0' || last[0] > '9')
}

// tunnelThrough asks a proxy for a tunnel.
func tunnelThrough(ctx context.Context, proxy *url.URL, target string) (far net.Conn, err error) {
	port := map[string]string{"http": "80", "https": "443"}[proxy.Scheme]
	if port == "" {
		return nil, errors.New("HTTP_PROXY, HTTPS_PROXY: only http and https proxies are supported")
	}
	if proxy.Port() != "" {
		port = proxy.Port()
	}
	var conn net.Conn
	address, d := net.JoinHostPort(proxy.Hostname(), port), net.Dialer{KeepAlive: 30 * time.Second}
	if proxy.Scheme == "https" {
		conn, err = (&tls.Dialer{NetDialer: &d}).DialContext(ctx, "tcp", address)
	} else {
		conn, err = d.DialContext(ctx, "tcp", address)
	}
	if err != nil {
		return nil, fmt.Errorf("reach the host's proxy: %v", err) // a name that does not exist is not the container's
	}
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })()
	defer func() {
		if err != nil {
			conn.Close()
		}
	}()
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: target}, Host: target,
		Header: http.Header{}}
	if user := proxy.User; user != nil {
		password, _ := user.Password()
		request.Header.Set("Proxy-Authorization",
			"Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	if err := request.Write(conn); err != nil {
		return nil, fmt.Errorf("ask the host's proxy: %w", err)
	}
	status, err := answer(conn)
	if err != nil {
		return nil, fmt.Errorf("read the answer of the host's proxy: %w", err)
	}
	if !strings.HasPrefix(status, "200") {
		return nil, &refusal{status}
	}
	return conn, nil
}

// answer reads the head of a proxy's answer, and not a byte more, and returns its status.
func answer(conn net.Conn) (string, error) {
	var head []byte
	for b := make([]byte, 1); !strings.HasSuffix(string(head[max(0, len(head)-4):]), "\r\n\r\n"); {
		if len(head) == maxHeaders {
			return "", errors.New("it is too long")
		}
		if _, err := io.ReadFull(conn, b); err != nil {
			return "", err
		}
		head = append(head, b[0])
	}
	line, _, _ := strings.Cut(string(head), "\r\n")
	_, status, ok := strings.Cut(line, " ")
	if !ok || !strings.HasPrefix(line, "HTTP/1.") {
		return "", errors.New("it is not HTTP")
	}
	return status, nil
}

// relay is the transport for plain requests. Tunnels to port 80 are often forbidden, so with ProxyNames the host's
// proxy gets such a request as it is.
type relay struct {
	g               *Gateway
	direct, through *http.Transport
}

// RoundTrip implements http.RoundTripper.
func (t *relay) RoundTrip(r *http.Request) (*http.Response, error) {
	proxy, err := t.g.via("http", r.URL.Host)
	if err != nil {
		return nil, err
	}
	if proxy == nil || !t.g.cfg.ProxyNames {
		return t.direct.RoundTrip(r)
	}
	ctx, cancel := context.WithTimeout(r.Context(), maxDial)
	_, err = t.g.judge(ctx, r.URL.Host)
	cancel()
	if err != nil {
		return nil, err
	}
	r.Host = strings.TrimSuffix(r.URL.Host, ":80") // the transport would name another host to the proxy
	return t.through.RoundTrip(r)
}

func (t *relay) closeIdle() {
	t.direct.CloseIdleConnections()
	t.through.CloseIdleConnections()
}
