package gemini

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const key = "a-secret-of-the-owner"

// serve returns a client of a server that answers with answer.
func serve(t *testing.T, answer http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL + "/base/")
	if err != nil {
		t.Fatal(err)
	}
	return &Client{Base: base, Key: key}
}

func TestList(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/base/v1beta/models" || r.Header.Get("X-Goog-Api-Key") != key || strings.Contains(r.URL.String(), key) {
			t.Errorf("unexpected request %s", r.URL)
		}
		if r.URL.Query().Get("pageToken") == "" {
			io.WriteString(w, `{"models":[{"name":"models/a","supportedGenerationMethods":["generateContent"]}],"nextPageToken":"2 "}`)
			return
		}
		io.WriteString(w, `{"models":[{"name":"models/b","supportedGenerationMethods":["embedContent"]}]}`)
	})
	got, err := c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Model{{"a", []string{"generateContent"}}, {"b", []string{"embedContent"}}}, got); diff != "" {
		t.Errorf("unexpected models (-want +got):\n%s", diff)
	}
}

func TestTry(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/base/v1beta/models/gemini-pro-latest:generateContent":
			if !strings.Contains(string(body), `"maxOutputTokens":1`) {
				t.Errorf("unexpected body %s", body)
			}
			io.WriteString(w, `{"modelVersion":"gemini-3.1-pro"}`)
		case "/base/v1beta/models/e:embedContent":
			io.WriteString(w, `{"embedding":{"values":[1]}}`)
		case "/base/v1beta/models/leaks:generateContent":
			w.WriteHeader(400)
			io.WriteString(w, `{"error":{"message":"the key `+key+` is odd"}}`)
		case "/base/v1beta/models/away:generateContent":
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		case "/base/v1beta/models/page:generateContent":
			io.WriteString(w, "<html>")
		default:
			w.WriteHeader(404)
			io.WriteString(w, closed)
		}
	})
	if version, err := c.Resolve(t.Context(), "models/gemini-pro-latest"); version != "gemini-3.1-pro" || err != nil {
		t.Errorf("Resolve = %q, %v", version, err)
	}
	if err := c.TryEmbed(t.Context(), "e"); err != nil {
		t.Error(err)
	}
	for model, want := range map[string]Kind{"leaks": Refused, "away": Refused, "page": Refused, "x": NoModel} {
		err := c.Try(t.Context(), model)
		if kind := kindOf(err); kind != want {
			t.Errorf("Try(%s) = %v, want %s", model, err, want)
		}
		if err != nil && strings.Contains(err.Error(), key) {
			t.Errorf("the error contains the key: %v", err)
		}
	}
	c.Base.Host = "127.0.0.1:1"
	if err := c.Try(t.Context(), "x"); kindOf(err) != Network {
		t.Errorf("without a server: %v", err)
	}
}

func kindOf(err error) Kind {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Kind
	}
	return ""
}
