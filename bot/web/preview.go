package web

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot"
	"matrix-tui/state/sentence"
)

const (
	previewTime  = time.Hour        // how long a preview can be seen
	ticketTime   = time.Minute      // how long its link works, once
	previewCheck = 10 * time.Second // how often it is checked that the visitor may still see it
	maxPreviews  = 32
	maxOfVisitor = 4
	maxTunnels   = 16 // connections with programs of one room
	maxFailed    = 3  // times that it cannot be found out, in a row
	ticketPath   = "/.matrix-tui/"
	openAgain    = "Open it from the page of the room's processes."
)

// previews are programs in containers that people look at. Each has an origin of its own, a subdomain: so it reaches
// neither the page nor another preview. What a program sends may be hostile.
type previews struct {
	bot    Bot
	box    Box
	life   context.Context
	log    zerolog.Logger
	scheme string
	domain string // "" for none; with the port
	secure bool

	tunnels  places // connections with programs, by room
	requests places // in progress, by visitor: a page may load hundreds of files at once

	mu  sync.Mutex
	all map[string]*preview // by host
}

// preview is one program that one visitor looks at.
type preview struct {
	user, session string
	room          string
	port          int
	until         time.Time
	ctx           context.Context
	end           context.CancelFunc
	proxy         http.Handler
	cookie        string // what the browser has for the ticket

	mu     sync.Mutex
	ticket string            // "" when it was used
	before time.Time         // when the ticket expires
	jar    map[string]string // cookies that the program has set, by name
}

// ticket is what the page shows of a preview that was opened.
type ticket struct {
	Room, Link string
	Port       int
	Time       time.Duration
}

// preview opens a preview, and shows the link to it. The form cannot lead there: the policy of the page forbids it.
func (s workspace) preview(w http.ResponseWriter, v visit) {
	if s.previews.domain == "" {
		s.fail(w, http.StatusNotFound, noPage)
		return
	}
	port, err := strconv.Atoi(strings.TrimSpace(v.PostFormValue("port")))
	if err != nil || port < 1 || port > 65535 || port == gatewayPort {
		s.fail(w, http.StatusBadRequest, "That is not a port of a program in the container. Go back, and enter another one.")
		return
	}
	ctx, cancel := context.WithTimeout(v.Context(), maxTime)
	defer cancel()
	conn, err := s.box.Dial(ctx, v.who, v.PathValue("room"), port)
	if s.answered(w, err) {
		return
	}
	conn.Close()
	link, err := s.previews.open(&preview{user: v.who.User, session: s.value(v.Request, sessionCookie),
		room: v.PathValue("room"), port: port})
	if s.answered(w, err) {
		return
	}
	s.show(w, http.StatusOK, "preview", page{Title: "Preview", User: v.who.User,
		Data: ticket{v.PathValue("room"), link, port, previewTime}})
}

var errPreviews = sentence.New(errors.New("too many previews"), "Too many previews are open. Try again later.")

// open returns the link to a new preview.
func (p *previews) open(one *preview) (link string, err error) {
	now := time.Now()
	one.until, one.before = now.Add(previewTime), now.Add(ticketTime)
	one.cookie, one.ticket, one.jar = rand.Text(), rand.Text(), map[string]string{}
	host := strings.ToLower(rand.Text()) + "." + p.domain
	p.mu.Lock()
	defer p.mu.Unlock()
	p.makeWay(one)
	if len(p.all) >= maxPreviews {
		return "", errPreviews
	}
	one.ctx, one.end = context.WithDeadline(p.life, one.until)
	one.proxy = p.proxyTo(one, host)
	p.all[host] = one
	go p.watch(host, one)
	return p.scheme + "://" + host + ticketPath + one.ticket, nil
}

// makeWay ends the visitor's preview of the same program, and the oldest one that is one too many. The caller holds mu.
func (p *previews) makeWay(next *preview) {
	mine, oldest := 0, ""
	for host, one := range p.all {
		switch {
		case one.user == next.user && one.room == next.room && one.port == next.port, one.ctx.Err() != nil:
			one.end()
			delete(p.all, host)
		case one.user == next.user:
			if mine++; oldest == "" || one.until.Before(p.all[oldest].until) {
				oldest = host
			}
		}
	}
	if mine >= maxOfVisitor {
		p.all[oldest].end()
		delete(p.all, oldest)
	}
}

// watch ends a preview when its time is over, or its visitor may not see the room any more.
func (p *previews) watch(host string, one *preview) {
	defer func() {
		one.end()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.all, host)
	}()
	p.attend(one.ctx, one.session, one.room)
}

// attend returns when ctx ends, or when the visitor of a session may not see a room any more. What cannot be found out
// for a while counts as that.
func (p *previews) attend(ctx context.Context, session, room string) {
	tick := time.NewTicker(previewCheck)
	defer tick.Stop()
	for failed := 0; failed < maxFailed; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		look, cancel := context.WithTimeout(ctx, maxTime)
		v, err := p.bot.Visitor(look, session)
		if err == nil {
			err = p.box.Sees(look, v, room)
		}
		cancel()
		if errors.Is(err, bot.ErrNoVisitor) || errors.Is(err, bot.ErrNoRoom) {
			return
		}
		if failed++; err == nil {
			failed = 0
		}
	}
}

// endOf ends the previews of a session.
func (p *previews) endOf(session string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.all {
		if one.session == session {
			one.end()
		}
	}
}
