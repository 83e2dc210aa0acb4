package web

import (
	"bufio"
	"context"
	"crypto/subtle"
	"errors"
	"html/template"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"matrix-tui/state/sentence"
)

const (
	maxToProgram = 8        // connections with a program in a container
	maxHeader    = 64 << 10 // bytes of a program's answer
)

// is reports whether a request is for a preview, and not for the page.
func (p *previews) is(r *http.Request) bool {
	return p.domain != "" && strings.HasSuffix(strings.ToLower(r.Host), "."+p.domain)
}

// ServeHTTP passes a request on to the program if the browser has opened the preview with its ticket.
func (p *previews) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	one := p.all[strings.ToLower(r.Host)]
	p.mu.Unlock()
	if one == nil || one.ctx.Err() != nil {
		notice(w, http.StatusNotFound, "This preview has ended. "+openAgain)
		return
	}
	if given, is := strings.CutPrefix(r.URL.Path, ticketPath); is && r.Method == http.MethodGet {
		switch {
		case p.opened(r, one): // the link, again
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		case !one.redeem(given):
			notice(w, http.StatusForbidden, "This link was used before, or is too old. "+openAgain)
			return
		}
		http.SetCookie(w, &http.Cookie{Name: p.cookieName(), Value: one.cookie, Path: "/", Expires: one.until,
			HttpOnly: true, Secure: p.secure, SameSite: http.SameSiteLaxMode})
		w.Header().Set("Referrer-Policy", "no-referrer")
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	if !p.opened(r, one) {
		notice(w, http.StatusForbidden, "Only the browser that has opened this preview can see it. "+openAgain)
		return
	}
	if !p.requests.begin(one.user) {
		notice(w, http.StatusServiceUnavailable, "Your previews have too many requests in progress. Reload this one.")
		return
	}
	defer p.requests.end(one.user)
	ctx, cancel := context.WithDeadline(r.Context(), one.until)
	defer cancel()
	defer context.AfterFunc(one.ctx, cancel)()
	control := http.NewResponseController(w) // a program may stream
	if errors.Join(control.SetReadDeadline(one.until), control.SetWriteDeadline(one.until)) != nil {
		return
	}
	one.proxy.ServeHTTP(&response{ResponseWriter: w, ctx: ctx, until: one.until}, r.WithContext(ctx))
}

// response is one to a preview. What a program sends before its answer is dropped: nobody looks through that.
type response struct {
	http.ResponseWriter
	ctx   context.Context // of the request
	until time.Time
}

// Unwrap is for [http.ResponseController].
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader sends the answer's.
func (r *response) WriteHeader(status int) {
	if status >= http.StatusOK || status == http.StatusSwitchingProtocols {
		r.ResponseWriter.WriteHeader(status)
	}
}

// Hijack returns the connection, which ends with the request's context: nobody else would close it.
func (r *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffer, err := http.NewResponseController(r.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	context.AfterFunc(r.ctx, func() { conn.Close() })
	return conn, buffer, conn.SetDeadline(r.until)
}

// opened reports whether a request comes from the browser that has opened the preview.
func (p *previews) opened(r *http.Request, one *preview) bool {
	c, err := r.Cookie(p.cookieName())
	return err == nil && subtle.ConstantTimeCompare([]byte(c.Value), []byte(one.cookie)) == 1
}

// notice says something in place of a program. The page's style is on another origin.
func notice(w http.ResponseWriter, status int, said string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'")
	w.WriteHeader(status)
	_ = notices.Execute(w, said)
}

var notices = template.Must(template.New("").Parse(`<!doctype html><html lang="en"><meta charset="utf-8">` +
	`<meta name="viewport" content="width=device-width, initial-scale=1"><title>Preview · matrix-tui</title>` +
	`<main><h1>Preview</h1><p>{{.}}</p></main></html>`))

func (p *previews) cookieName() string {
	if p.secure {
		return "__Host-preview"
	}
	return "preview"
}

// redeem uses the ticket up.
func (o *preview) redeem(given string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ticket == "" || time.Now().After(o.before) || subtle.ConstantTimeCompare([]byte(given), []byte(o.ticket)) != 1 {
		return false
	}
	o.ticket = ""
	return true
}

var errTunnels = sentence.New(errors.New("too many connections"),
	"Too many connections with programs of this room are open. Try again in a minute.")

// counted is a connection with a program.
type counted struct {
	net.Conn
	done func()
}

// Close may be called again.
func (c *counted) Close() error {
	c.done()
	return c.Conn.Close()
}

// proxyTo returns what passes requests on to a program. The program takes them for requests to localhost. It does not
// see the preview's cookie, and cannot set cookies of other hosts or clear any.
func (p *previews) proxyTo(one *preview, host string) http.Handler {
	target := &url.URL{Scheme: "http", Host: net.JoinHostPort("localhost", strconv.Itoa(one.port))}
	ours := p.scheme + "://" + host
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			v, err := p.bot.Visitor(ctx, one.session)
			if err != nil {
				return nil, err
			}
			if !p.tunnels.begin(one.room) {
				return nil, errTunnels
			}
			done := sync.OnceFunc(func() { p.tunnels.end(one.room) })
			conn, err := p.box.Dial(ctx, v, one.room, one.port)
			if err != nil {
				done()
				return nil, err
			}
			return &counted{conn, done}, nil
		},
		MaxConnsPerHost: maxToProgram, IdleConnTimeout: previewCheck, ResponseHeaderTimeout: time.Minute,
		MaxResponseHeaderBytes: maxHeader, DisableCompression: true,
	}
	context.AfterFunc(one.ctx, transport.CloseIdleConnections)
	return &httputil.ReverseProxy{
		Transport: transport,
		ErrorLog:  stdlog.New(io.Discard, "", 0), // it would log parts of requests
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			header := r.Out.Header
			one.guardRequest(r.Out)
			if header.Get("Origin") == ours {
				header.Set("Origin", "http://"+target.Host)
			}
		},
		ModifyResponse: func(r *http.Response) error {
			one.guardAnswer(r.Header, p.cookieName())
			if to, ok := strings.CutPrefix(r.Header.Get("Location"), "http://"+target.Host); ok {
				r.Header.Set("Location", "/"+strings.TrimPrefix(to, "/"))
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			said, known := sentence.Of(err)
			if !known {
				said = "The program in the room's container does not answer as a web server does."
			}
			p.log.Debug().Err(err).Str("room", one.room).Msg("cannot show a preview")
			notice(w, http.StatusBadGateway, said)
		},
	}
}
