package agenttest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

const maxBody = 64 << 20 // bytes of one request

// Server answers the Gemini API from a script. It is an http.Handler. Use New; the zero value is not usable.
type Server struct {
	log    zerolog.Logger
	key    string
	done   context.Context
	finish context.CancelFunc

	mu     sync.Mutex
	script *Script
	used   []int // by rule
	ids    int
	seen   record
}

// New returns a server that answers from script. The script must not be changed afterwards.
func New(script *Script, log zerolog.Logger) *Server {
	s := &Server{log: log}
	s.done, s.finish = context.WithCancel(context.Background())
	s.SetScript(script)
	return s
}

// RequireKey makes the server refuse every API key but this one, as Google does. Call it before serving.
func (s *Server) RequireKey(key string) { s.key = key }

// SetScript replaces the rules and starts counting times from zero. Answers in progress continue with the old rules.
func (s *Server) SetScript(script *Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script, s.used = script, make([]int, len(script.Rules))
}

// Requests returns the requests since the start, oldest first. Beyond 1000 requests or 64 MiB of text the oldest are
// dropped.
func (s *Server) Requests() []Request { return s.since(0) }

func (s *Server) since(seq int) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen.since(seq)
}

// Close ends every pause in progress, so that an http.Server around the handler can shut down.
func (s *Server) Close() { s.finish() }

// ServeHTTP answers the API below any path prefix that contains /models, and /_script/ for the test itself.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/_script/") {
		s.control(w, r)
		return
	}
	_, rest, ok := strings.Cut(r.URL.Path, "/models")
	if !ok || (rest != "" && rest[0] != '/') {
		noMethod.write(w, single)
		return
	}
	if refused := s.checkKey(r); refused != nil {
		refused.write(w, single)
		return
	}
	model, method, _ := strings.Cut(strings.TrimPrefix(rest, "/"), ":")
	switch {
	case r.Method == http.MethodGet && method == "":
		s.list(w, r, model)
	case r.Method == http.MethodPost && method != "":
		s.call(w, r, model, method)
	default:
		noMethod.write(w, single)
	}
}

var noMethod = &refusal{code: http.StatusNotFound, message: "no such method"}

func (s *Server) checkKey(r *http.Request) *refusal {
	key := cmp.Or(r.Header.Get("x-goog-api-key"), r.URL.Query().Get("key"))
	switch {
	case s.key == "" || key == s.key:
		return nil
	case key == "":
		return noKey()
	}
	return badKey()
}

// call answers a method of a model, after everything that Google would refuse has been refused.
func (s *Server) call(w http.ResponseWriter, r *http.Request, model, method string) {
	req := Request{Time: time.Now(), Model: model, Method: method}
	mode, refused := form(method, r.URL.Query())
	if closed := s.checkModel(model, method); closed != nil {
		req.Status = closed.code
		s.note(req)
		closed.write(w, mode)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		refused = invalid("Request payload size exceeds the limit: %d bytes.", maxBody)
	case err != nil:
		return // the client is gone
	case refused == nil:
		refused = refuse(method, body)
	}
	if refused != nil {
		s.refuse(w, mode, req, refused)
		return
	}
	if method == "embedContent" || method == "batchEmbedContents" {
		s.embed(r, w, req, body)
		return
	}
	v, err := parse(body)
	if err != nil { // it has been decoded: only a number of an unknown kind can be wrong
		s.refuse(w, mode, req, invalid("%v", err))
		return
	}
	if method == "countTokens" {
		req.Text, req.Status = v.all, http.StatusOK
		s.note(req)
		sendJSON(w, map[string]any{"totalTokens": tokens(v.all)})
		return
	}
	v.model = model
	s.generate(r.Context(), w, mode, req, v)
}

// checkModel refuses a model that does not exist, one that is closed to this key, and a method that it does not have.
func (s *Server) checkModel(name, method string) *refusal {
	m, ok := s.model(name)
	switch {
	case !ok || !m.takes(method):
		return unknownModel(name, method)
	case m.Refuses != "":
		return refusals[m.Refuses](name)
	}
	return nil
}

func (s *Server) generate(ctx context.Context, w http.ResponseWriter, mode streaming, req Request, v view) {
	rule, groups, refused, id := s.take(&req, v)
	m, _ := s.model(req.Model)
	out := rule.replies(groups, cmp.Or(m.Is, req.Model), id, tokens(v.all))
	if mode == single || mode == binary {
		out = joined(out)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.done, cancel)()
	rule.send(ctx, w, mode, out, refused)
}

// take chooses the rule, counts its use and records the request.
func (s *Server) take(req *Request, v view) (rule *Rule, groups []string, refused *refusal, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids++
	i, groups := choose(s.script.Rules, s.used, v)
	req.Text, req.User, req.Tool, req.JSON, req.Rule = v.all, v.user, v.tool, v.json, i+1
	req.Status = http.StatusOK
	switch {
	case i >= 0:
		s.used[i]++
		rule = &s.script.Rules[i]
	case v.json:
		text, _ := json.Marshal(fit(v.schema)) // cannot happen: it is made of JSON
		rule = &Rule{Say: string(text)}
	case v.digest:
		rule = &Rule{Say: "<state_snapshot>scripted digest of the history</state_snapshot>"}
	default:
		rule = s.script.Default
	}
	if refused = rule.refusal(req.Model, groups); refused != nil {
		req.Status = refused.code
	}
	s.seen.add(*req)
	s.log.Debug().Str("method", req.Method).Str("model", req.Model).Int("rule", req.Rule).Bool("json", v.json).
		Msg("answered from the script")
	return rule, groups, refused, fmt.Sprintf("scripted-%d", s.ids)
}

// refuse answers with what Google would, and records why.
func (s *Server) refuse(w http.ResponseWriter, mode streaming, req Request, r *refusal) {
	req.Status, req.Refused = r.code, r.Error()
	s.note(req)
	s.log.Debug().Str("method", req.Method).Str("model", req.Model).Str("refused", req.Refused).Msg("refused")
	r.write(w, mode)
}

func (s *Server) note(req Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen.add(req)
}
