// Package oauthserver is a homeserver that leaves logins to an OAuth 2.0 server, and that OAuth 2.0 server, in front of
// a homeserver with passwords. It does what the Matrix specification says, and refuses everything else: see Refused.
//
// Its access tokens stand for a session at the homeserver behind it. A session that ends is logged out there.
package oauthserver

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"
	deviceScope = "urn:matrix:client:device:"
)

// Server is safe for concurrent use. Its fields are set before its first request.
type Server struct {
	Life     time.Duration // of an access token
	CodeLife time.Duration // of a code
	Slow     bool          // the first poll for tokens is answered with slow_down
	Unstable bool          // the metadata is only where it was before Matrix 1.15

	server  *httptest.Server
	behind  *url.URL
	through *httputil.ReverseProxy

	mu        sync.Mutex
	clients   map[string]bool // client IDs
	codes     map[string]*code
	sessions  []*session
	refused   []string
	refreshed int
	asked     int
	down      bool
	lose      bool
	wantOwner bool
}

type code struct {
	client, user, device string
	until, polled        time.Time
	interval             time.Duration
	denied, exchanged    bool
	session              *session // once it is confirmed
}

// session is a login. Its newest tokens are the last ones.
type session struct {
	client, token, password, user string // token: of the homeserver behind
	ended                         bool
	pairs                         []*pair
}

type pair struct {
	access, refresh string
	until           time.Time
	used            bool // one of the two has been used
}

// New returns a server in front of a homeserver. Close ends it.
func New(homeserver string) (*Server, error) {
	behind, err := url.Parse(homeserver)
	if err != nil {
		return nil, fmt.Errorf("read address of the homeserver: %w", err)
	}
	s := &Server{Life: 5 * time.Minute, CodeLife: 20 * time.Minute, behind: behind, clients: map[string]bool{},
		codes: map[string]*code{}}
	s.through = s.forward()
	s.server = httptest.NewServer(http.HandlerFunc(s.serve))
	return s, nil
}

// URL is the address of the homeserver as the bot knows it.
func (s *Server) URL() string { return s.server.URL }

// Close ends the server.
func (s *Server) Close() { s.server.CloseClientConnections(); s.server.Close() }

// Refused returns what no client may send, as far as somebody has sent it.
func (s *Server) Refused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.refused)
}

// Refreshed returns how many refresh tokens were exchanged.
func (s *Server) Refreshed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refreshed
}

// answer is an answer of the OAuth 2.0 server.
type answer struct {
	status int
	body   any
}

func no(status int, code string) answer { return answer{status, map[string]string{"error": code}} }

// wrong notes a request that no client may send.
func (s *Server) wrong(code, format string, args ...any) answer {
	s.refused = append(s.refused, fmt.Sprintf(format, args...))
	return answer{http.StatusBadRequest, map[string]string{"error": code,
		"error_description": fmt.Sprintf(format, args...)}}
}

func (s *Server) metadata() answer {
	at := s.URL()
	return answer{http.StatusOK, map[string]any{
		"issuer": at + "/", "authorization_endpoint": at + "/authorize", "token_endpoint": at + "/oauth2/token",
		"registration_endpoint": at + "/oauth2/registration", "device_authorization_endpoint": at + "/oauth2/device",
		"revocation_endpoint": at + "/oauth2/revoke", "code_challenge_methods_supported": []string{"S256"},
		"grant_types_supported":    []string{"authorization_code", "refresh_token", deviceGrant},
		"response_types_supported": []string{"code"},
	}}
}

func (s *Server) register(r *http.Request) answer {
	var c struct {
		URI       string   `json:"client_uri"`
		Grants    []string `json:"grant_types"`
		Responses []string `json:"response_types"`
		Method    string   `json:"token_endpoint_auth_method"`
		Type      string   `json:"application_type"`
	}
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil || r.Header.Get("Content-Type") != "application/json" {
		return s.wrong("invalid_client_metadata", "registration: %v", err)
	}
	uri, err := url.Parse(c.URI)
	slices.Sort(c.Grants)
	if err != nil || uri.Scheme != "https" || uri.Host == "" || c.Method != "none" || c.Type != "native" ||
		c.Responses == nil ||
		len(c.Responses) > 0 || !slices.Equal(c.Grants, []string{"refresh_token", deviceGrant}) {
		return s.wrong("invalid_client_metadata", "registration: %+v", c)
	}
	id := rand.Text()
	s.clients[id] = true
	return answer{http.StatusCreated, map[string]any{"client_id": id, "grant_types": c.Grants}}
}

// form reads a form that has exactly these fields.
func (s *Server) form(r *http.Request, fields ...string) (url.Values, bool) {
	if err := r.ParseForm(); err != nil || r.URL.RawQuery != "" || r.Header.Get("Authorization") != "" {
		return nil, false
	}
	slices.Sort(fields)
	return r.PostForm, slices.Equal(slices.Sorted(maps.Keys(r.PostForm)), fields) && s.clients[r.PostForm.Get("client_id")]
}

var deviceID = regexp.MustCompile(`^[A-Za-z0-9._~-]{10,}$`)

func (s *Server) device(r *http.Request) answer {
	form, ok := s.form(r, "client_id", "scope")
	if !ok {
		return s.wrong("invalid_request", "device: %v", r.PostForm)
	}
	scope := strings.Split(form.Get("scope"), " ")
	slices.Sort(scope)
	if len(scope) != 2 || scope[0] != "urn:matrix:client:api:*" || !strings.HasPrefix(scope[1], deviceScope) ||
		!deviceID.MatchString(scope[1][len(deviceScope):]) {
		return s.wrong("invalid_scope", "scope %q", scope)
	}
	c := &code{client: form.Get("client_id"), user: rand.Text()[:6], device: scope[1][len(deviceScope):],
		until: time.Now().Add(s.CodeLife), interval: time.Second}
	id := rand.Text()
	s.codes[id] = c
	return answer{http.StatusOK, map[string]any{
		"device_code": id, "user_code": c.user, "verification_uri": s.URL() + "/link",
		"verification_uri_complete": s.URL() + "/link?code=" + c.user,
		"expires_in":                int(s.CodeLife.Seconds()), "interval": int(c.interval.Seconds()),
	}}
}

func (s *Server) token(r *http.Request) answer {
	if err := r.ParseForm(); err != nil {
		return s.wrong("invalid_request", "token: %v", err)
	}
	switch r.PostForm.Get("grant_type") {
	case deviceGrant:
		form, ok := s.form(r, "grant_type", "device_code", "client_id")
		if !ok {
			return s.wrong("invalid_request", "token: %v", r.PostForm)
		}
		return s.exchange(s.codes[form.Get("device_code")], form.Get("client_id"))
	case "refresh_token":
		form, ok := s.form(r, "grant_type", "refresh_token", "client_id")
		if !ok {
			return s.wrong("invalid_request", "token: %v", r.PostForm)
		}
		return s.refresh(form.Get("refresh_token"), form.Get("client_id"))
	}
	return s.wrong("unsupported_grant_type", "token: %v", r.PostForm)
}

func (s *Server) exchange(c *code, client string) answer {
	if c == nil || c.client != client || c.exchanged {
		return s.wrong("invalid_grant", "device code")
	}
	last, now := c.polled, time.Now()
	c.polled = now
	switch {
	case now.After(c.until):
		return no(http.StatusForbidden, "expired_token")
	case !last.IsZero() && now.Sub(last) < c.interval*9/10: // a ticker makes up for a late tick
		c.interval += 5 * time.Second
		return s.wrong("slow_down", "polled after %s", now.Sub(last))
	case last.IsZero() && s.Slow:
		c.interval += 5 * time.Second
		return no(http.StatusBadRequest, "slow_down")
	case c.denied:
		return no(http.StatusForbidden, "access_denied")
	case c.session == nil:
		return no(http.StatusForbidden, "authorization_pending")
	}
	c.exchanged = true
	return s.issue(c.session)
}

// refresh exchanges a refresh token. Until one of the new tokens is used, the old one can be exchanged again; later
// that ends the session.
func (s *Server) refresh(token, client string) answer {
	for _, session := range s.sessions {
		at := slices.IndexFunc(session.pairs, func(p *pair) bool { return p.refresh == token })
		if at < 0 || session.ended {
			if at >= 0 {
				s.asked++
			}
			continue
		}
		last := len(session.pairs) - 1
		if session.client != client || at < last-1 || at == last-1 && session.pairs[last].used {
			s.end(session)
			return s.wrong("invalid_grant", "a refresh token that was used before")
		}
		session.pairs[at].used = true
		session.pairs = session.pairs[:at+1]
		s.refreshed++
		return s.issue(session)
	}
	return no(http.StatusBadRequest, "invalid_grant")
}

func (s *Server) issue(session *session) answer {
	p := &pair{access: rand.Text(), refresh: rand.Text(), until: time.Now().Add(s.Life)}
	session.pairs = append(session.pairs, p)
	return answer{http.StatusOK, map[string]any{
		"access_token": p.access, "refresh_token": p.refresh, "token_type": "Bearer", "expires_in": int(s.Life.Seconds()),
	}}
}

func (s *Server) revoke(r *http.Request) answer {
	form, ok := s.form(r, "token", "client_id")
	if !ok {
		return s.wrong("invalid_request", "revoke: %v", r.PostForm)
	}
	for _, session := range s.sessions {
		if slices.ContainsFunc(session.pairs,
			func(p *pair) bool { return p.refresh == form.Get("token") || p.access == form.Get("token") }) {
			s.end(session)
		}
	}
	return answer{http.StatusOK, struct{}{}}
}
