// Package web is the page: what people see of their rooms and tasks in a browser, and what they do there. It signs
// people in, renders what package bot tells it, and passes on what they enter; the bot decides everything else. Pages
// are whole without JavaScript, which only keeps them up to date. What people and agents have written is text to it, or
// Markdown that package text has made safe.
//
//	GET, POST /signin            shows a code; signs in with the number that the bot answers to it
//	GET  /                       the rooms that the person may see
//	GET  /r/{room}               one of them
//	GET, POST /r/{room}/memory   its memory: finds, adds, forgets
//	GET, POST /r/{room}/files/…  its workspace: a folder, or a file to save; takes files
//	GET  /r/{room}/processes     what runs in its container; …/live, as server-sent events
//	POST /r/{room}/preview       opens a preview: shows the link to it, which is on another origin
//	GET  /t/{id}                 a task; the ID is that of its execution
//	GET  /t/{id}/live            its progress, as server-sent events
//	POST /t/{id}/answer, /t/{id}/stop, /signout
//	GET  /operator               the bot, its host, alerts and checks: for owners
package web

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot"
	"matrix-tui/state"
)

// Bot is what the page needs from the bot. It is an interface because the tests of the page have no homeserver.
type Bot interface {
	Code(ctx context.Context, browser string) (string, error)
	Enter(ctx context.Context, browser, number string) (session string, until time.Time, err error)
	Leave(ctx context.Context, session string) error
	Visitor(ctx context.Context, session string) (state.Visitor, error)
	Rooms(ctx context.Context, v state.Visitor) ([]bot.RoomLine, error)
	Room(ctx context.Context, v state.Visitor, room string) (bot.RoomView, error)
	Memory(ctx context.Context, v state.Visitor, room, about string) (said string, err error)
	Remember(ctx context.Context, v state.Visitor, room, text string) (said string, err error)
	Forget(ctx context.Context, v state.Visitor, room, text string) (said string, err error)
	Task(ctx context.Context, v state.Visitor, id string) (bot.TaskView, error)
	Answer(ctx context.Context, v state.Visitor, id string, number int, answer string) (said string, err error)
	Stop(ctx context.Context, v state.Visitor, id string) (said string, err error)
	Owns(ctx context.Context, v state.Visitor) (bool, error)
	Host(ctx context.Context, v state.Visitor) (bot.HostView, error)
}

// Box is what the page needs from rooms' containers. It is an interface for the same reason.
type Box interface {
	Look(ctx context.Context, v state.Visitor, room, path string) (bot.Found, error)
	Download(ctx context.Context, v state.Visitor, room, path string, size int64, w io.Writer) error
	Upload(ctx context.Context, v state.Visitor, room, path, name string, from io.Reader) error
	Processes(ctx context.Context, v state.Visitor, room string) (list []bot.Process, more bool, err error)
	Sees(ctx context.Context, v state.Visitor, room string) error
	Dial(ctx context.Context, v state.Visitor, room string, port int) (net.Conn, error)
}

// Address is where browsers reach the page, and in which domain previews are: "" for none.
type Address struct {
	Page     *url.URL
	Previews string
}

// Limits of requests.
const (
	maxBody = 128 << 10 // bytes of a form
	maxTime = 20 * time.Second

	// At the same time, of all visitors and of one.
	maxStreams, maxStreamsOf     = 64, 8
	maxTransfers, maxTransfersOf = 8, 2
	maxLooks, maxLooksOf         = 8, 4
	maxRequests, maxRequestsOf   = 160, 96 // to previews; the rest of the connections is the page's
)

// site serves all requests.
type site struct {
	bot    Bot
	box    Box
	life   context.Context // ends when the server stops: streams end then
	secure bool            // people reach it by https only
	log    zerolog.Logger

	streams   places // pages that are shown live, by visitor
	transfers places // files that are copied, by visitor
	looks     places // operations in containers, by visitor
	previews  *previews
}

// New returns the handler of the page. Streams and previews end with ctx.
func New(ctx context.Context, b Bot, box Box, at Address, log zerolog.Logger) http.Handler {
	base := at.Page
	s := &site{bot: b, box: box, life: ctx, secure: base.Scheme == "https", log: log,
		streams:   places{most: maxStreams, mostOf: maxStreamsOf},
		transfers: places{most: maxTransfers, mostOf: maxTransfersOf}, looks: places{most: maxLooks, mostOf: maxLooksOf}}
	s.previews = &previews{bot: b, box: box, life: ctx, log: log, scheme: base.Scheme, secure: s.secure,
		domain: at.Previews, all: map[string]*preview{},
		tunnels:  places{most: maxPreviews * maxTunnels, mostOf: maxTunnels},
		requests: places{most: maxRequests, mostOf: maxRequestsOf}}
	if port := base.Port(); port != "" && at.Previews != "" {
		s.previews.domain += ":" + port
	}
	ws := workspace{s}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /signin", func(w http.ResponseWriter, r *http.Request) { s.showDoor(w, r, http.StatusOK, "", "") })
	mux.HandleFunc("POST /signin", s.enter)
	mux.HandleFunc("POST /signout", s.leave)
	mux.HandleFunc("GET /{$}", s.signedIn(s.rooms))
	mux.HandleFunc("GET /r/{room}", s.signedIn(s.room))
	mux.HandleFunc("GET /r/{room}/memory", s.signedIn(s.memory))
	mux.HandleFunc("POST /r/{room}/memory", s.signedIn(s.remember))
	mux.HandleFunc("GET /r/{room}/files/{path...}", s.signedIn(ws.browse))
	mux.HandleFunc(uploadRoute, s.signedIn(ws.upload))
	mux.HandleFunc("GET /r/{room}/processes", s.signedIn(ws.processes))
	mux.HandleFunc("GET /r/{room}/processes/live", s.signedIn(ws.watch))
	mux.HandleFunc("POST /r/{room}/preview", s.signedIn(ws.preview))
	mux.HandleFunc("GET /t/{id}", s.signedIn(s.task))
	mux.HandleFunc("GET /t/{id}/live", s.signedIn(s.live))
	mux.HandleFunc("POST /t/{id}/answer", s.signedIn(s.answer))
	mux.HandleFunc("POST /t/{id}/stop", s.signedIn(s.stop))
	mux.HandleFunc("GET /operator", s.signedIn(s.operator))
	mux.Handle("GET /static/", static)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { s.fail(w, http.StatusNotFound, noPage) })
	protect := http.NewCrossOriginProtection()                    // requests that another site makes a browser send
	_ = protect.AddTrustedOrigin(base.Scheme + "://" + base.Host) // a proxy may change the header Host; it cannot fail
	protect.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.fail(w, http.StatusForbidden, "Another site has sent this. Go back, and use the page itself.")
	}))
	page := s.guarded(protect.Handler(mux), func(r *http.Request) int64 {
		if _, route := mux.Handler(r); route == uploadRoute {
			return maxUpload
		}
		return maxBody
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.previews.is(r) {
			s.previews.ServeHTTP(w, r)
			return
		}
		page.ServeHTTP(w, r)
	})
}

// policy lets a page load nothing but its own style and script, send forms nowhere else, and appear in no frame.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// guarded sets what all responses have, bounds the request, and logs a panic without what somebody wrote.
func (s *site) guarded(next http.Handler, most func(*http.Request) int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("X-Frame-Options", "DENY")
		header.Set("Referrer-Policy", "same-origin")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		if s.secure {
			header.Set("Strict-Transport-Security", "max-age=31536000")
		}
		r.Body = http.MaxBytesReader(w, r.Body, most(r))
		defer func() {
			if what := recover(); aborted(what) {
				panic(what)
			} else if what != nil { // it may contain what somebody wrote
				s.log.Error().Bytes("stack", debug.Stack()).Msg("panic while answering a request to the page")
				panic(http.ErrAbortHandler)
			}
		}()
		if !fetched(r.Header) {
			s.fail(w, http.StatusForbidden, "Another site has asked for this. Open the page itself.")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// fetched reports whether the page itself or a person asks for something: other sites, of which previews are some, may
// only lead people here. See https://www.w3.org/TR/fetch-metadata/.
func fetched(header http.Header) bool {
	switch header.Get("Sec-Fetch-Site") {
	case "same-site", "cross-site":
		dest := header.Get("Sec-Fetch-Dest")
		return header.Get("Sec-Fetch-Mode") == "navigate" && (dest == "document" || dest == "")
	}
	return true
}

// aborted reports whether a handler has broken its response off on purpose.
func aborted(what any) bool {
	err, ok := what.(error)
	return ok && errors.Is(err, http.ErrAbortHandler)
}
