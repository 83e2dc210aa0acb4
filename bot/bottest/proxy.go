package bottest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"matrix-tui/bot/bottest/host"
)

// proxy stands between the bot and its homeserver, and answers some requests in
// the homeserver's place. People are not behind it.
type proxy struct {
	server *httptest.Server

	mu         sync.Mutex
	refusals   []*refusal
	deviceless string // the user that a token is of, where the bot is not told the device
	hold       *hold
}

// refusal is an answer that the homeserver has not given.
type refusal struct {
	fits   *regexp.Regexp // method and path
	left   int            // how often it is still to be given
	status int
	code   string // errcode of the body
}

func newProxy(homeserver string) (*proxy, error) {
	target, err := url.Parse(homeserver)
	if err != nil {
		return nil, fmt.Errorf("read address of the homeserver: %w", err)
	}
	p := &proxy{}
	through := &httputil.ReverseProxy{
		Rewrite:  func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ErrorLog: log.New(io.Discard, "", 0), // a homeserver that was stopped, a sync that was hurried
	}
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if no := p.refusalOf(r.Method + " " + r.URL.Path); no != nil {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(no.status)
			fmt.Fprintf(w, `{"errcode":%q,"error":"refused by the script"}`, no.code)
			return
		}
		if user := p.whoami(r.URL.Path); user != "" {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"user_id":%q}`, user)
			return
		}
		p.wait(r)
		through.ServeHTTP(w, r)
	}))
	return p, nil
}

// refusalOf takes a refusal for a request, nil for none.
func (p *proxy) refusalOf(request string) *refusal {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.refusals {
		if r.left > 0 && r.fits.MatchString(request) {
			r.left--
			return r
		}
	}
	return nil
}

// whoami is the user to answer a request with, "" for none.
func (p *proxy) whoami(path string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !strings.HasSuffix(path, "/account/whoami") {
		return ""
	}
	return p.deviceless
}

// left is how many refusals nobody has met yet.
func (p *proxy) left() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.refusals {
		n += r.left
	}
	return n
}

func (p *proxy) close() {
	if p != nil {
		p.release()
		p.server.CloseClientConnections()
		p.server.Close()
	}
}

// matrix is the address of the homeserver as the bot knows it.
func (sc *script) matrix() string {
	if sc.proxy != nil {
		return sc.proxy.server.URL
	}
	return sc.home.URL()
}

// doRefuse has requests of the bot refused that are still to come.
func doRefuse(_ context.Context, sc *script, _ bool, args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	status, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	re, err := regexp.Compile(args[3])
	if err != nil {
		return err
	}
	if sc.proxy == nil {
		if sc.bot.proc != nil {
			return errors.New("the first refuse comes before the bot's first start")
		}
		if sc.proxy, err = newProxy(sc.home.URL()); err != nil {
			return err
		}
	}
	sc.proxy.mu.Lock()
	defer sc.proxy.mu.Unlock()
	sc.proxy.refusals = append(sc.proxy.refusals, &refusal{re, n, status, args[2]})
	return nil
}

// doRefused waits until the bot has met each refusal.
func doRefused(ctx context.Context, sc *script, _ bool, _ []string) error {
	if sc.proxy == nil {
		return errors.New("refuse comes first")
	}
	if err := host.Poll(ctx, func() (bool, error) { return sc.proxy.left() == 0, nil }); err != nil {
		return fmt.Errorf("%d refusals were not met: %w", sc.proxy.left(), err)
	}
	return nil
}

// doDeviceless has the bot told of a token whose it is, and of no device: so it
// is with those of application services.
func doDeviceless(_ context.Context, sc *script, _ bool, _ []string) (err error) {
	if sc.bot.proc.Alive() || sc.bot.id == "" {
		return errors.New("the bot must have an account, and not run")
	}
	if sc.proxy == nil {
		if sc.proxy, err = newProxy(sc.home.URL()); err != nil {
			return err
		}
	}
	sc.proxy.mu.Lock()
	defer sc.proxy.mu.Unlock()
	sc.proxy.deviceless = sc.bot.id
	return nil
}
