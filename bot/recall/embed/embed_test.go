package embed

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/agent/agenttest"
	"matrix-tui/state/memory"
)

const key = "the-key-of-the-bot"

// serve starts a scripted model, and returns a client of it.
func serve(t *testing.T, script string) (*agenttest.Server, *Gemini) {
	t.Helper()
	rules, err := agenttest.Load([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	model := agenttest.New(rules, zerolog.Nop())
	model.RequireKey(key)
	return model, clientOf(t, model)
}

func clientOf(t *testing.T, handler http.Handler) *Gemini {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, err := New(server.URL+"/base", key, "gemini-embedding-001") // a proxy may have a path
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestFetch(t *testing.T) {
	// Nothing comes from the environment.
	t.Setenv("GOOGLE_GEMINI_BASE_URL", "http://192.0.2.1")
	t.Setenv("GOOGLE_API_KEY", "another")
	t.Setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
	model, client := serve(t, "embeddings: {same: ['car automobile']}")
	vectors, err := client.Fetch(t.Context(), false, []string{"my car is red", "the bread is baked"})
	if err != nil {
		t.Fatal(err)
	}
	wanted, err := client.Fetch(t.Context(), true, []string{"the automobile"})
	if err != nil || len(vectors) != 2 || len(wanted) != 1 || len(wanted[0]) != memory.Dimensions {
		t.Fatalf("%d and %d vectors, %v", len(vectors), len(wanted), err)
	}
	dot := func(v []float32) (sum float32) {
		for i := range v {
			sum += v[i] * wanted[0][i]
		}
		return sum
	}
	if dot(vectors[0]) < dot(vectors[1])+0.1 {
		t.Errorf("the car is at %.2f, the bread at %.2f", dot(vectors[0]), dot(vectors[1]))
	}
	requests := model.Requests()
	if len(requests) != 2 || requests[0].Method != "batchEmbedContents" || requests[0].Model != "gemini-embedding-001" || requests[0].Text != "batchEmbedContents\nmy car is red\nthe bread is baked" {
		t.Errorf("requests %+v", requests)
	}
}

// Only a refusal of what was sent is one.
func TestRefused(t *testing.T) {
	_, refusing := serve(t, "embeddings: {refuse: walrus}")
	if _, err := refusing.Fetch(t.Context(), false, []string{"a ferret", "a walrus"}); !errors.Is(err, memory.ErrRefused) {
		t.Errorf("a refused text is %v", err)
	}
	if _, err := refusing.Fetch(t.Context(), false, []string{"a ferret"}); err != nil {
		t.Error(err)
	}
	for _, status := range []string{"403", "404", "429", "500", "503"} {
		_, failing := serve(t, "embeddings: {status: "+status+"}")
		if _, err := failing.Fetch(t.Context(), false, []string{"a walrus"}); err == nil || errors.Is(err, memory.ErrRefused) {
			t.Errorf("status %s is %v", status, err)
		}
	}
}

func TestErrorsContainNoText(t *testing.T) {
	const text = "my secret plan"
	answer := func(body string, status int) *Gemini {
		return clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
	}
	_, failing := serve(t, "embeddings: {status: 503}")
	raw := func(said string) *Gemini {
		return clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(conn, said)
			_ = conn.Close()
		}))
	}
	for name, client := range map[string]*Gemini{
		"echo":       raw(text + "\r\n\r\n"),
		"header":     raw("HTTP/1.1 200 OK\r\n" + text + "\r\n\r\n"),
		"code":       raw("HTTP/1.1 " + text + "\r\n\r\n"),
		"location":   raw("HTTP/1.1 302 Found\r\nLocation: http://[" + text + "\r\n\r\n"),
		"status":     failing,
		"repeated":   answer(`{"error":{"code":400,"message":"cannot embed `+text+`"}}`, 400),
		"no JSON":    answer("<html>"+text, 200),
		"plain text": answer(text, 500),
		"too few":    answer(`{"embeddings":[]}`, 200),
		"too short":  answer(`{"embeddings":[{"values":[1,2]}]}`, 200),
		"null":       answer(`{"embeddings":[null]}`, 200),
	} {
		vectors, err := client.Fetch(t.Context(), false, []string{text})
		if err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %d vectors, %v", name, len(vectors), err)
		}
	}
	away, err := New("http://127.0.0.1:1", key, "m")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := away.Fetch(t.Context(), false, []string{text}); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("a server that is away is %v", err)
	}
	_, slow := serve(t, "embeddings: {delay: 1m}")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := slow.Fetch(ctx, true, []string{text}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a deadline is %v", err)
	}
	if _, err := New("", key, "m"); err == nil || strings.Contains(err.Error(), key) {
		t.Errorf("without an address: %v", err)
	}
}

// What the model has got is cut, whatever happens to its answer. What never arrived is not, nor is an error of the API.
func TestCut(t *testing.T) {
	fetch := func(ctx context.Context, handle http.HandlerFunc) error {
		_, err := clientOf(t, handle).Fetch(ctx, false, []string{"my plan"})
		return err
	}
	ctx, hangUp := context.WithTimeout(t.Context(), time.Minute)
	defer hangUp()
	away, err := New("http://127.0.0.1:1", key, "m")
	if err != nil {
		t.Fatal(err)
	}
	_, refused := away.Fetch(t.Context(), false, []string{"my plan"})
	for name, c := range map[string]struct {
		err error
		cut bool
	}{
		"hung up": {fetch(ctx, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			hangUp()
			<-r.Context().Done()
		}), true},
		"closed": {fetch(t.Context(), func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			panic(http.ErrAbortHandler)
		}), true},
		"half": {fetch(t.Context(), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`{"embeddings":[`))
		}), true},
		"unusable":      {fetch(t.Context(), func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"embeddings":[]}`)) }), true},
		"error":         {fetch(t.Context(), func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }), false},
		"never arrived": {refused, false},
	} {
		if c.err == nil || errors.Is(c.err, memory.ErrCut) != c.cut {
			t.Errorf("%s: %v", name, c.err)
		}
	}
}

// A redirect is not followed: another server would get the key and the texts.
func TestNoRedirect(t *testing.T) {
	asked := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	t.Cleanup(other.Close)
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		client := clientOf(t, http.RedirectHandler(other.URL, status))
		if vectors, err := client.Fetch(t.Context(), false, []string{"my secret plan"}); err == nil || asked {
			t.Errorf("%d: %d vectors, %v, the other server was asked: %v", status, len(vectors), err, asked)
		}
	}
}
