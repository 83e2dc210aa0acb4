package agenttest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Model is a model that the API lists.
type Model struct {
	Name string `yaml:"name"`
	// Refuses is the kind of refusal that every request for an answer gets; "" = none. The model is listed all the same.
	Refuses string `yaml:"refuses"`
	// Is is the model that answers, if the name is an alias.
	Is string `yaml:"is"`
}

// models are those of a key that was made in autumn 2026, if a script lists none. Sources: thedotmack/claude-mem#3278,
// sohzm/cheating-daddy#476, crewAIInc/crewAI#7003.
var models = []Model{
	{Name: "gemini-2.5-pro", Refuses: "closed"},
	{Name: "gemini-2.5-flash", Refuses: "closed"},
	{Name: "gemini-3-flash-preview"},
	{Name: "gemini-3.1-pro-preview"},
	{Name: "gemini-3.1-flash-lite"},
	{Name: "gemini-3.5-flash"},
	{Name: "gemini-3.7-flash"},
	{Name: "gemini-pro-latest", Is: "gemini-3.1-pro-preview"},
	{Name: "gemini-flash-latest", Is: "gemini-3.7-flash"},
	{Name: "gemini-embedding-001"},
}

func checkModels(list []Model) error {
	seen := map[string]bool{}
	for _, m := range list {
		switch {
		case m.Name == "" || seen[m.Name]:
			return errors.New("models: each has a name of its own")
		case m.Refuses != "" && refusals[m.Refuses] == nil:
			return fmt.Errorf("models: %s refuses with %q; known are %s", m.Name, m.Refuses, kinds())
		}
		seen[m.Name] = true
	}
	return nil
}

func (m Model) methods() []string {
	if strings.Contains(m.Name, "embedding") {
		return []string{"embedContent", "countTextTokens", "countTokens", "asyncBatchEmbedContent"}
	}
	return []string{"generateContent", "countTokens", "createCachedContent", "batchGenerateContent"}
}

// takes reports whether the model has a method. Some go by the name of another.
func (m Model) takes(method string) bool {
	switch method {
	case "streamGenerateContent":
		method = "generateContent"
	case "batchEmbedContents":
		method = "embedContent"
	}
	return slices.Contains(m.methods(), method)
}

func (m Model) describe() map[string]any {
	return map[string]any{
		"name": "models/" + m.Name, "displayName": "scripted " + m.Name, "version": "scripted",
		"inputTokenLimit": 1 << 20, "outputTokenLimit": 1 << 16, "supportedGenerationMethods": m.methods(),
	}
}

// model returns what the API lists under a name.
func (s *Server) model(name string) (Model, bool) {
	s.mu.Lock()
	list := s.script.Models
	s.mu.Unlock()
	i := slices.IndexFunc(list, func(m Model) bool { return m.Name == name })
	if i < 0 {
		return Model{}, false
	}
	return list[i], true
}

const maxPage = 1000

// list answers GET models, a page at a time, and GET models/NAME. A closed model is described like any other.
func (s *Server) list(w http.ResponseWriter, r *http.Request, name string) {
	if name != "" {
		m, ok := s.model(name)
		if !ok {
			(&refusal{code: http.StatusNotFound, message: "Model is not found: models/" + name + " for api version v1beta"}).
				write(w, single)
			return
		}
		sendJSON(w, m.describe())
		return
	}
	size, from := 50, 0
	if text := r.URL.Query().Get("pageSize"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			invalid("Invalid value at 'page_size' (TYPE_INT32), %q", text).write(w, single)
			return
		}
		if n > 0 {
			size = min(n, maxPage)
		}
	}
	s.mu.Lock()
	list := s.script.Models
	s.mu.Unlock()
	if text := r.URL.Query().Get("pageToken"); text != "" {
		n, err := strconv.Atoi(strings.TrimPrefix(text, "page"))
		if err != nil || n < 0 || n > len(list) {
			invalid("The page token is invalid.").write(w, single)
			return
		}
		from = n
	}
	out := map[string]any{}
	var page []any
	for _, m := range list[from:min(from+size, len(list))] {
		page = append(page, m.describe())
	}
	if page != nil {
		out["models"] = page
	}
	if from+size < len(list) {
		out["nextPageToken"] = "page" + strconv.Itoa(from+size)
	}
	sendJSON(w, out)
}
