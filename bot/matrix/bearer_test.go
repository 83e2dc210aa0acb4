package matrix

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// The homeserver gets the token, and no other server to which it redirects.
func TestTokenStaysAtHome(t *testing.T) {
	sent := map[string]string{}
	note := func(r *http.Request) { sent[r.URL.Path] = r.Header.Get("Authorization") }
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { note(r) }))
	defer other.Close()
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note(r)
		switch r.URL.Path {
		case "/media":
			http.Redirect(w, r, other.URL+"/cdn", http.StatusFound)
		case "/moved":
			http.Redirect(w, r, "/here", http.StatusFound)
		}
	}))
	defer home.Close()
	at, err := url.Parse(home.URL)
	if err != nil {
		t.Fatal(err)
	}
	b := &bearer{home: at, next: http.DefaultTransport}
	b.set(session{AccessToken: "secret"})
	client := &http.Client{Transport: b}
	for _, path := range []string{"/media", "/moved"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, home.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer secret") // as mautrix does
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	for path, want := range map[string]string{"/media": "Bearer secret", "/cdn": "", "/moved": "Bearer secret", "/here": "Bearer secret"} {
		if got, ok := sent[path]; !ok || got != want {
			t.Errorf("%s gets %q (%v), want %q", path, got, ok, want)
		}
	}
}
