package web

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"time"

	"matrix-tui/bot"
	"matrix-tui/state"
)

const (
	noPage     = "There is no such page, or it is not for you."
	tryAgain   = "Something went wrong here. Try again in a minute; the operator can find more in the log."
	incomplete = "The form is incomplete, or too long. Go back and send it again."
	notYet     = "That is not the number for this code, or it has expired. Send the code below to the bot, and enter " +
		"the number of its answer."
)

// cookie returns a cookie that no script can read and no other site's form sends. By https, no other host can set it,
// either: https://developer.mozilla.org/en-US/docs/Web/HTTP/Reference/Headers/Set-Cookie#cookie_prefixes
func (s *site) cookie(name, value string, until time.Time) *http.Cookie {
	c := &http.Cookie{Name: s.cookieName(name), Value: value, Path: "/", Expires: until, HttpOnly: true, Secure: s.secure,
		SameSite: http.SameSiteLaxMode}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}

func (s *site) cookieName(name string) string {
	if s.secure {
		return "__Host-" + name
	}
	return name
}

// A browser has a secret before anybody has signed in: its code is made from that. A session has another one.
const (
	browserCookie, sessionCookie = "browser", "session"
	browserTime                  = 24 * time.Hour
)

// value returns the value of a cookie, or "".
func (s *site) value(r *http.Request, name string) string {
	if c, err := r.Cookie(s.cookieName(name)); err == nil {
		return c.Value
	}
	return ""
}

// door is the page on which people sign in.
type door struct{ Code, Next string }

// isNext reports whether signing in may lead to a page.
func isNext(path string) bool { return nextPath.MatchString(path) && !strings.Contains(path, "..") }

var nextPath = regexp.MustCompile(`^/(operator|[rt]/[^/\\][^\\]*)$`)

// showDoor shows a browser its code.
func (s *site) showDoor(w http.ResponseWriter, r *http.Request, status int, next, said string) {
	ctx, cancel := context.WithTimeout(r.Context(), maxTime)
	defer cancel()
	browser := s.value(r, browserCookie)
	if browser == "" {
		browser = rand.Text()
		http.SetCookie(w, s.cookie(browserCookie, browser, time.Now().Add(browserTime)))
	}
	code, err := s.bot.Code(ctx, browser)
	if s.answered(w, err) {
		return
	}
	if !isNext(next) {
		next = ""
	}
	s.show(w, status, "door", page{Title: "Sign in", Said: said, Data: door{code, next}})
}

// enter signs a browser in. The session that it had ends, and so does its code.
func (s *site) enter(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), maxTime)
	defer cancel()
	next, browser := r.PostFormValue("next"), s.value(r, browserCookie)
	if browser == "" {
		s.showDoor(w, r, http.StatusUnauthorized, next, "")
		return
	}
	session, until, err := s.bot.Enter(ctx, browser, strings.TrimSpace(r.PostFormValue("number")))
	if errors.Is(err, bot.ErrNoVisitor) {
		s.showDoor(w, r, http.StatusUnauthorized, next, notYet)
		return
	}
	if old := s.value(r, sessionCookie); err == nil && old != "" {
		err = s.bot.Leave(ctx, old)
	}
	if s.answered(w, err) {
		return
	}
	http.SetCookie(w, s.cookie(sessionCookie, session, until))
	http.SetCookie(w, s.cookie(browserCookie, "", time.Time{}))
	if !isNext(next) {
		next = "/"
	}
	http.Redirect(w, r, next, http.StatusSeeOther)
}

// leave signs a browser out.
func (s *site) leave(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), maxTime)
	defer cancel()
	session := s.value(r, sessionCookie)
	if session != "" && s.answered(w, s.bot.Leave(ctx, session)) {
		return
	}
	s.previews.endOf(session)
	http.SetCookie(w, s.cookie(sessionCookie, "", time.Time{}))
	s.show(w, http.StatusOK, "said", page{Title: "You are signed out",
		Said: "To sign in again, open any page of your rooms."})
}

// visit is a request of a person who has signed in.
type visit struct {
	*http.Request
	who state.Visitor
}

// signedIn passes a request on if it comes from a person who has signed in, and asks others to sign in.
func (s *site) signedIn(next func(w http.ResponseWriter, v visit)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, err := s.visitor(r.Context(), r)
		switch {
		case errors.Is(err, bot.ErrNoVisitor):
			s.showDoor(w, r, http.StatusUnauthorized, r.URL.RequestURI(), "")
		case !s.answered(w, err):
			next(w, visit{r, who})
		}
	}
}

// visitor returns who sends a request, or bot.ErrNoVisitor.
func (s *site) visitor(ctx context.Context, r *http.Request) (who state.Visitor, err error) {
	session := s.value(r, sessionCookie)
	if session == "" {
		return who, bot.ErrNoVisitor
	}
	return s.bot.Visitor(ctx, session)
}
