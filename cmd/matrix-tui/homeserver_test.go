package main

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/settings"
)

// TestFindHomeserver asks a server of the test's own for its .well-known.
func TestFindHomeserver(t *testing.T) {
	answer, asked := "", 0
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.URL.Path != "/.well-known/matrix/client" || answer == "" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	trusting := http.DefaultTransport.(*http.Transport).Clone()
	trusting.TLSClientConfig = &tls.Config{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	usual := http.DefaultTransport
	http.DefaultTransport = trusting
	t.Cleanup(func() { http.DefaultTransport = usual; trusting.CloseIdleConnections() })
	name := strings.TrimPrefix(server.URL, "https://")

	for _, c := range []struct{ user, set, answer, want, wrong string }{
		{"@bot:" + name, "", `{"m.homeserver":{"base_url":"https://matrix.example.org"}}`, "https://matrix.example.org", ""},
		{"@bot:" + name, "", `{"m.homeserver":{"base_url":"https://matrix.example.org/"}}`, "https://matrix.example.org", ""},
		{"@bot:" + name, "https://else.example.org", `{"m.homeserver":{"base_url":"https://matrix.example.org"}}`, "https://else.example.org", ""},
		{"bot", "", "", "", ""}, // whose server does not exist
		{"@bot:" + name, "", "", "", "has no .well-known/matrix/client"},
		{"@bot:" + name, "", `{"m.homeserver":{}}`, "", "has no .well-known/matrix/client"},
		{"@bot:" + name, "", `<html>`, "", "not JSON"},
		{"@bot:" + name, "", `{"m.homeserver":{"base_url":"gopher://x"}}`, "", "does not say where"},
	} {
		answer = c.answer
		before := asked
		cfg := &settings.Config{}
		if err := cfg.User.UnmarshalText([]byte(c.user)); err != nil {
			t.Fatal(err)
		}
		if c.set != "" {
			if err := cfg.Homeserver.UnmarshalText([]byte(c.set)); err != nil {
				t.Fatal(err)
			}
		}
		err := cli.FindHomeserver(t.Context(), cfg)
		if string(cfg.Homeserver) != c.want || (err != nil) != (c.wrong != "") {
			t.Errorf("%+v: %q, %v", c, cfg.Homeserver, err)
		}
		if err != nil && !(strings.Contains(err.Error(), c.wrong) && strings.Contains(err.Error(), "MATRIX_HOMESERVER is missing")) {
			t.Errorf("%+v: %v", c, err)
		}
		if (c.set != "" || c.user == "bot") && asked != before {
			t.Errorf("%+v: asked without need", c)
		}
	}
}
