package gateway

import (
	"context"
	"errors"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"
)

func (g *Gateway) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: maxDial, KeepAlive: 30 * time.Second, Control: g.control, Resolver: g.cfg.resolver}
	return d.DialContext(ctx, network, address)
}

// connect serves CONNECT.
func (d *door) connect(w http.ResponseWriter, r *http.Request) {
	address, err := d.g.cfg.target(r.Host, 0)
	if err != nil {
		proxyError(w, err)
		return
	}
	far, err := d.g.way("https")(r.Context(), "tcp", address)
	if err != nil {
		proxyError(w, err)
		return
	}
	defer far.Close()
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		d.log.Warn().Err(err).Msg("cannot hijack a connection for a tunnel")
		return
	}
	defer near.Close()
	if c, ok := near.(*conn); ok {
		c.unread = d.g.cfg.idle
	}
	// The buffer contains what the container sent early.
	early, _ := buffered.Reader.Peek(buffered.Reader.Buffered())
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	if _, err := far.Write(early); err != nil {
		return
	}
	// The server no longer tracks a hijacked connection, so close it when the door closes.
	defer context.AfterFunc(d.live, func() { near.Close(); far.Close() })()
	pipe(near, far, d.g.cfg.idle)
}

// forward proxies plain HTTP.
func (d *door) forward(w http.ResponseWriter, r *http.Request) {
	if r.URL.Scheme != "http" {
		sendError(w, http.StatusBadRequest, "only http URLs are proxied directly; use CONNECT for https")
		return
	}
	address, err := d.g.cfg.target(r.URL.Host, 80)
	if err != nil {
		proxyError(w, err)
		return
	}
	r.URL.Host = address
	give, err := d.held.take(r.Context())
	if err != nil {
		panic(http.ErrAbortHandler) // the container went away, or the gateway is closing
	}
	defer give()
	ctx, watch := newWatch(r.Context(), d.g.cfg.idle)
	defer watch.stop()
	d.proxy.ServeHTTP(w, r.WithContext(context.WithValue(ctx, watchKey{}, watch)))
}

type watchKey struct{}

func (g *Gateway) plainRelay() *relay {
	direct := &http.Transport{
		DialContext:         g.way("http"),
		IdleConnTimeout:     30 * time.Second,
		MaxIdleConns:        32,
		MaxIdleConnsPerHost: 4,
		DisableCompression:  true,

		MaxResponseHeaderBytes: maxHeaders,
	}
	through := direct.Clone()
	through.DialContext = (&net.Dialer{Timeout: maxDial, KeepAlive: 30 * time.Second}).DialContext
	through.Proxy = func(r *http.Request) (*url.URL, error) { return g.via("http", r.URL.Host) }
	return &relay{g, direct, through}
}

func plainProxy(t http.RoundTripper) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			// Upgrades would outlive the request; they must use CONNECT.
			p.Out.Header.Del("Upgrade")
			p.Out.Header.Del("Connection")
			p.Out.Host = p.In.Host
			if watch, ok := p.Out.Context().Value(watchKey{}).(*watch); ok && p.Out.Body != nil && p.Out.Body != http.NoBody {
				p.Out.Body = watch.body(p.Out.Body)
			}
		},
		ModifyResponse: func(resp *http.Response) error {
			if resp.StatusCode == http.StatusSwitchingProtocols {
				return errors.New("unexpected protocol upgrade")
			}
			if watch, ok := resp.Request.Context().Value(watchKey{}).(*watch); ok {
				resp.Body = watch.body(resp.Body)
			}
			return nil
		},
		Transport:     t,
		FlushInterval: -1,
		ErrorLog:      stdlog.New(io.Discard, "", 0), // it would log addresses
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			proxyError(w, err)
		},
	}
}

// proxyError reports a failure without details: a container must not learn which
// internal addresses exist.
func proxyError(w http.ResponseWriter, err error) {
	var op net.Error
	var bad *targetError
	var refused *refusal
	switch {
	case errors.Is(err, errNotPublic), errors.As(err, new(*net.DNSError)):
		sendError(w, http.StatusForbidden, errNotPublic.Error())
	case errors.As(err, &bad):
		sendError(w, http.StatusBadRequest, bad.Error())
	case errors.As(err, &refused):
		sendError(w, http.StatusBadGateway, refused.Error())
	case errors.Is(err, context.Canceled), errors.As(err, &op) && op.Timeout():
		sendError(w, http.StatusGatewayTimeout, "the host did not answer in time")
	default:
		sendError(w, http.StatusBadGateway, "cannot reach the host")
	}
}

// sendError answers with an error in our own words.
func sendError(w http.ResponseWriter, code int, message string) {
	http.Error(w, "gateway: "+message, code)
}
