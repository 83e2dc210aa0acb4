package oauthserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"strings"
	"time"
)

func (s *Server) forward() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(s.behind) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		ErrorLog:     log.New(io.Discard, "", 0),
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if a, ours := s.answer(r); ours {
		if a.status == 0 {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(a.status)
		_ = json.NewEncoder(w).Encode(a.body)
		return
	}
	s.through.ServeHTTP(w, r)
}

// answer answers a request that is not for the homeserver behind. Else it gives the request the token of a session
// there.
func (s *Server) answer(r *http.Request) (answer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path, isOAuth := strings.CutPrefix(r.URL.Path, "/oauth2/")
	if isOAuth && s.down {
		return answer{http.StatusServiceUnavailable, struct{}{}}, true
	}
	switch {
	case isOAuth && r.Method == http.MethodPost:
		handler := map[string]func(*http.Request) answer{"registration": s.register, "device": s.device, "token": s.token,
			"revoke": s.revoke}[path]
		a := handler(r)
		if s.lose && path == "token" && a.status == http.StatusOK {
			s.lose, a.status = false, 0
		}
		return a, true
	case r.URL.Path == "/_matrix/client/v1/auth_metadata" && !s.Unstable,
		r.URL.Path == "/_matrix/client/unstable/org.matrix.msc2965/auth_metadata" && s.Unstable:
		return s.metadata(), true
	case strings.HasSuffix(r.URL.Path, "/auth_metadata"):
		return answer{http.StatusNotFound, map[string]string{"errcode": "M_UNRECOGNIZED"}}, true
	case strings.HasSuffix(r.URL.Path, "/login") && r.Method == http.MethodGet:
		return answer{http.StatusOK, map[string]any{"flows": []any{map[string]any{"type": "m.login.sso",
			"oauth_aware_preferred": true}}}}, true
	case strings.HasSuffix(r.URL.Path, "/login"):
		return answer{http.StatusForbidden, map[string]string{"errcode": "M_UNRECOGNIZED"}}, true
	}
	token, has := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !has {
		return answer{}, false
	}
	session := s.of(token)
	if session == nil {
		return answer{http.StatusUnauthorized, map[string]any{"errcode": "M_UNKNOWN_TOKEN", "error": "Token is not active",
			"soft_logout": true}}, true
	}
	r.Header.Set("Authorization", "Bearer "+session.token)
	if strings.HasSuffix(r.URL.Path, "/keys/device_signing/upload") {
		if s.wantOwner {
			return answer{http.StatusUnauthorized, map[string]any{
				"flows": []any{map[string]any{"stages": []string{"m.oauth"}}}, "session": "s",
				"params": map[string]any{"m.oauth": map[string]string{"url": s.URL() + "/account?action=reset"}},
			}}, true
		}
		if err := s.authenticate(r, session); err != nil {
			return answer{http.StatusBadRequest, err.Error()}, true
		}
	}
	return answer{}, false
}

// of returns the session of an access token that is valid. Only the newest one of a session is.
func (s *Server) of(token string) *session {
	for _, session := range s.sessions {
		if session.ended {
			continue
		}
		if p := session.pairs[len(session.pairs)-1]; p.access == token && time.Now().Before(p.until) {
			p.used = true
			return session
		}
	}
	return nil
}

// authenticate adds the password, which the homeserver behind wants for new keys, but a client of OAuth 2.0 does not
// have.
func (s *Server) authenticate(r *http.Request, of *session) error {
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return err
	}
	body["auth"] = map[string]any{"type": "m.login.password", "user": of.user,
		"identifier": map[string]string{"type": "m.id.user", "user": of.user}, "password": of.password}
	data, err := json.Marshal(body)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	return err
}

// Confirm confirms a code as a user of the homeserver behind, and Deny denies it.
func (s *Server) Confirm(ctx context.Context, text, user, password string) error {
	c := s.find(text)
	if c == nil {
		return errors.New("no such code")
	}
	var answer struct {
		Token string `json:"access_token"`
	}
	err := s.ask(ctx, "login", "", map[string]any{
		"type": "m.login.password", "identifier": map[string]string{"type": "m.id.user", "user": user}, "password": password,
		"device_id": c.device,
	}, &answer)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.session = &session{client: c.client, token: answer.Token, user: user, password: password}
	s.sessions = append(s.sessions, c.session)
	return nil
}

// Deny denies a code.
func (s *Server) Deny(text string) {
	c := s.find(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	c.denied = true
}

// EndAll ends all sessions, like somebody who signs them out in the account's settings.
func (s *Server) EndAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, session := range s.sessions {
		s.end(session)
	}
}

// Asked returns how many refresh tokens of ended sessions somebody has tried.
func (s *Server) Asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// Expire makes all access tokens expire now.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, session := range s.sessions {
		session.pairs[len(session.pairs)-1].until = time.Time{}
	}
}

// Down makes the OAuth 2.0 server, but not the homeserver, answer 503, or ends that.
func (s *Server) Down(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// LoseNext makes the answer to the next refresh get lost.
func (s *Server) LoseNext() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose = true
}

// WantOwner makes the homeserver refuse cross-signing keys until the account's owner allows them.
func (s *Server) WantOwner() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wantOwner = true
}

func (s *Server) end(session *session) {
	if !session.ended {
		session.ended = true
		_ = s.ask(context.Background(), "logout", session.token, struct{}{}, nil)
	}
}

func (s *Server) find(text string) *code {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.codes {
		if c.user == text {
			return c
		}
	}
	return nil
}

// ask sends a request to the homeserver behind.
func (s *Server) ask(ctx context.Context, path, token string, body, into any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.behind.JoinPath("/_matrix/client/v3", path).String(),
		bytes.NewReader(data))
	if err != nil {
		return err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, resp.Status)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(into)
}
