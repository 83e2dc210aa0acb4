package agenttest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

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
	if s.key != "" && r.Header.Get("x-goog-api-key") != s.key && r.URL.Query().Get("key") != s.key {
		sendError(w, http.StatusBadRequest, "API key not valid. Please pass a valid API key.", 0)
		return
	}
	_, rest, ok := strings.Cut(r.URL.Path, "/models")
	if !ok || (rest != "" && rest[0] != '/') {
		sendError(w, http.StatusNotFound, "no such method", 0)
		return
	}
	model, method, _ := strings.Cut(strings.TrimPrefix(rest, "/"), ":")
	if r.Method == http.MethodGet && method == "" {
		s.models(w, model)
		return
	}
	if r.Method != http.MethodPost || method == "" {
		sendError(w, http.StatusNotFound, "no such method", 0)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		sendError(w, http.StatusBadRequest, "request body cannot be read", 0)
		return
	}
	s.call(w, r, model, method, body)
}

func (s *Server) models(w http.ResponseWriter, name string) {
	describe := func(name string) map[string]any {
		return map[string]any{
			"name": "models/" + name, "displayName": "scripted " + name, "version": "scripted",
			"inputTokenLimit": 1 << 20, "outputTokenLimit": 1 << 16,
			"supportedGenerationMethods": []string{"generateContent", "countTokens", "embedContent"},
		}
	}
	if name != "" {
		sendJSON(w, describe(name))
		return
	}
	var out []any
	for _, n := range []string{"gemini-2.5-flash", "gemini-2.5-pro", "gemini-embedding-001"} {
		out = append(out, describe(n))
	}
	sendJSON(w, map[string]any{"models": out})
}

func (s *Server) call(w http.ResponseWriter, r *http.Request, model, method string, body []byte) {
	req := Request{Model: model, Method: method}
	switch method {
	case "embedContent", "batchEmbedContents":
		s.embed(r, w, req, body)
		return
	case "generateContent", "streamGenerateContent", "countTokens":
	default:
		sendError(w, http.StatusNotFound, "no such method", 0)
		return
	}
	if r := refuse(method, body); r != nil {
		s.refuse(w, req, r)
		return
	}
	v, err := parse(body)
	if err != nil {
		sendError(w, http.StatusBadRequest, err.Error(), 0)
		return
	}
	if method == "countTokens" {
		req.Text, req.Status = v.all, http.StatusOK
		s.note(req)
		sendJSON(w, map[string]any{"totalTokens": tokens(v.all)})
		return
	}
	s.generate(w, r, req, v)
}

func (s *Server) embed(r *http.Request, w http.ResponseWriter, req Request, body []byte) {
	s.mu.Lock()
	how := s.script.Embeddings
	s.mu.Unlock()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.done, cancel)()
	if how != nil && !pause(ctx, how.Delay) {
		panic(http.ErrAbortHandler)
	}
	switch {
	case how != nil && how.Status != 0:
		req.Status = how.Status
		sendError(w, how.Status, "", 0)
	case req.Method == "embedContent":
		req.Text, req.Status = how.embedOne(w, body)
	default:
		req.Text, req.Status = how.embedBatch(w, body)
	}
	req.Text = req.Method + "\n" + req.Text // a script can tell it from what the model was sent
	s.note(req)
}

func (s *Server) generate(w http.ResponseWriter, r *http.Request, req Request, v view) {
	rule, groups, id := s.take(&req, v)
	mode := single
	if req.Method == "streamGenerateContent" {
		mode = array
		if r.URL.Query().Get("alt") == "sse" {
			mode = sse
		}
	}
	chunks := rule.Chunks
	if mode == single {
		chunks = 1
	}
	sent := usage{PromptTokenCount: cmp.Or(rule.Tokens, tokens(v.all)), CachedContentTokenCount: rule.Cached}
	out := replies(rule.text(groups), rule.calls(groups), chunks, rule.Finish, req.Model, id, sent)
	if mode == single {
		out = joined(out)
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.done, cancel)()
	rule.send(ctx, w, mode, out, groups)
}

// take chooses the rule, counts its use and records the request.
func (s *Server) take(req *Request, v view) (rule *Rule, groups []string, id string) {
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
	if rule.Status != 0 {
		req.Status = rule.Status
	}
	s.seen.add(*req)
	s.log.Debug().Str("method", req.Method).Str("model", req.Model).Int("rule", req.Rule).Bool("json", v.json).Msg("answered from the script")
	return rule, groups, fmt.Sprintf("scripted-%d", s.ids)
}

// refuse answers with an error of the API and records why.
func (s *Server) refuse(w http.ResponseWriter, req Request, r *refusal) {
	req.Status, req.Refused = r.code, r.Error()
	s.note(req)
	s.log.Debug().Str("method", req.Method).Str("model", req.Model).Str("refused", r.Error()).Msg("refused")
	sendError(w, r.code, r.message, 0)
}

func (s *Server) note(req Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen.add(req)
}

// joined merges the replies of a stream into one.
func joined(in []reply) []reply {
	last := in[len(in)-1]
	var parts []part
	for _, r := range in {
		parts = append(parts, r.Candidates[0].Content.Parts...)
	}
	last.Candidates[0].Content.Parts = parts
	return []reply{last}
}
