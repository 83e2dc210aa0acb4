package models

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/agent/gemini"
	"matrix-tui/state/sentence"
)

// api lists models and answers like Google's.
type api struct {
	mu     sync.Mutex
	listed []string
	closed map[string]bool
	alias  map[string]string
	tries  int
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.URL.Path == "/v1beta/models" {
		var all []map[string]any
		for _, name := range a.listed {
			all = append(all, map[string]any{"name": "models/" + name, "supportedGenerationMethods": []string{"generateContent"}})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"models": all})
		return
	}
	a.tries++
	name := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/v1beta/models/"), ":generateContent")
	if a.closed[name] {
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"error":{"status":"NOT_FOUND","message":"no longer available to new users"}}`)
		return
	}
	if version := a.alias[name]; version != "" {
		name = version
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"modelVersion": name})
}

func (a *api) close(names ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, name := range names {
		a.closed[name] = true
	}
}

func newAPI(t *testing.T, listed ...string) (*api, *gemini.Client, *httptest.Server) {
	t.Helper()
	a := &api{listed: listed, closed: map[string]bool{}, alias: map[string]string{}}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return a, &gemini.Client{Base: base, Key: "key"}, server
}

func choose(t *testing.T, m *Models, setting, want string) {
	t.Helper()
	if got, err := m.Choose(t.Context(), setting); got != want || err != nil {
		t.Errorf("Choose(%s) = %q, %v; want %q", setting, got, err, want)
	}
}

func TestChoiceIsKept(t *testing.T) {
	a, client, server := newAPI(t, "gemini-4-pro", "gemini-3.7-flash", "gemini-3.5-flash")
	a.close("gemini-4-pro")
	dir := t.TempDir()
	m := Open(dir, client, zerolog.Nop())
	choose(t, m, "models/gemini-3.1-pro", "gemini-3.1-pro")
	if a.tries > 0 {
		t.Error("a model that is set by name was tried")
	}
	choose(t, m, Auto, "gemini-3.7-flash")
	choose(t, m, Auto, "gemini-3.7-flash")
	if a.tries != 2 {
		t.Errorf("%d tries, want one of each", a.tries)
	}
	usable, err := m.Usable(t.Context(), 5)
	if got := strings.Join(usable, " "); got != "gemini-3.7-flash gemini-3.5-flash" || err != nil {
		t.Errorf("Usable = %q, %v", got, err)
	}
	server.Close()
	again := Open(dir, client, zerolog.Nop())
	choose(t, again, Auto, "gemini-3.7-flash")
	if _, err := again.find(t.Context(), Auto, ""); err == nil {
		t.Error("no error without the API")
	}
	choose(t, again, Auto, "gemini-3.7-flash")
	if err := os.WriteFile(filepath.Join(dir, "models.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := Open(dir, client, zerolog.Nop()).Now(Auto); ok {
		t.Error("a choice from a broken file")
	}
}

func TestReplace(t *testing.T) {
	a, client, _ := newAPI(t, "gemini-4-pro", "gemini-3.7-flash", "gemini-3.5-flash")
	m := Open(t.TempDir(), client, zerolog.Nop())
	choose(t, m, Auto, "gemini-4-pro")
	if next, said := m.Replace(t.Context(), Auto, "gemini-4-pro"); next != "" || said != "" {
		t.Errorf("a model that answers was replaced by %q (%s)", next, said)
	}
	a.close("gemini-4-pro")
	for range 2 { // two rooms
		if next, said := m.Replace(t.Context(), Auto, "gemini-4-pro"); next != "gemini-3.7-flash" || said != "" {
			t.Errorf("Replace = %q, %q", next, said)
		}
	}
	if n := len(m.changed); n != 1 {
		t.Errorf("%d messages for the owners", n)
	}
	if next, said := m.Replace(t.Context(), "gemini-4-pro", "gemini-4-pro"); next != "" || !strings.Contains(said, "cannot be used: the model is not available to this key") || !strings.Contains(said, "`gemini-3.7-flash`, `gemini-3.5-flash`") {
		t.Errorf("by name: %q, %q", next, said)
	}
	if next, said := m.Replace(t.Context(), "gemini-3.7-flash", "gemini-3.7-flash"); next != "" || said != "" {
		t.Errorf("by name, and it answers: %q, %q", next, said)
	}
	a.close("gemini-3.7-flash", "gemini-3.5-flash")
	if next, said := m.Replace(t.Context(), Auto, "gemini-3.7-flash"); next != "" || !strings.Contains(said, "I cannot choose a model") {
		t.Errorf("without any: %q, %q", next, said)
	}
	_, err := m.Choose(t.Context(), Flash)
	if said, ok := sentence.Of(err); !ok || !strings.Contains(said, "none that the API lists answers") {
		t.Errorf("Choose: %v", err)
	}
}

// A task waits for a choice as long as the API cannot be reached, but not for ever, and not if the key is wrong.
func TestChooseWaits(t *testing.T) {
	_, client, server := newAPI(t, "gemini-4-pro")
	server.Close()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		_, err := Open(t.TempDir(), client, zerolog.Nop()).Choose(t.Context(), Auto)
		if said, ok := sentence.Of(err); !ok || !strings.HasPrefix(said, "I cannot choose a model: the model's API cannot be reached (") {
			t.Errorf("Choose: %v", err)
		}
		if took := time.Since(begun); took < taskTime/3 || took > taskTime {
			t.Errorf("took %v", took)
		}
	})
	wrong := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer wrong.Close()
	base, err := url.Parse(wrong.URL)
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if _, err := Open(t.TempDir(), &gemini.Client{Base: base}, zerolog.Nop()).Choose(t.Context(), Auto); err == nil || time.Since(begun) > taskTime/2 {
		t.Errorf("with a wrong key: %v after %v", err, time.Since(begun))
	}
}

func TestAlias(t *testing.T) {
	a, client, _ := newAPI(t, "gemini-3.1-pro-preview", "gemini-pro-latest")
	a.alias["gemini-pro-latest"], a.alias["gemini-flash-latest"] = "gemini-3.1-pro-preview", "gemini-internal"
	m := Open(t.TempDir(), client, zerolog.Nop())
	choose(t, m, "gemini-pro-latest", "gemini-3.1-pro-preview")
	choose(t, m, "gemini-flash-latest", "gemini-flash-latest")
}
