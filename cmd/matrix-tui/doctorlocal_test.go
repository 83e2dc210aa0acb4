package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"matrix-tui/bot/policy"
)

func TestCheckPolicy(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "policy.yaml")
	begins(t, checkPolicy(dir), "ok   policy "+path+" is not there, and need not be: MATRIX_ALLOW says who may talk, and these commands need a yes: git push, ")
	begins(t, checkPolicy(filepath.Join(dir, "new")), "ok   policy "+dir+"/new/policy.yaml is not there")
	for text, want := range map[string]string{
		"":                                      "ok   policy " + path,
		"defaults: {approvals: [git push]}":     "ok   policy " + path,
		"defaults: {aprovals: [git push]}":      "FAIL policy " + path + " is not right (",
		"rooms: {den: {}}":                      "FAIL policy " + path + " is not right (rooms: \"den\" is no room ID; ",
		strings.Repeat("#", policy.MaxFile+1):   "FAIL policy " + path + " is not right (it holds more than 1 MiB): mend or remove it; ",
		"defaults: [\x1b[31m" + hidden + "\x00": "FAIL policy " + path + " is not right (",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		begins(t, checkPolicy(dir), want)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	begins(t, checkPolicy(dir), "FAIL policy "+path+" is not right (it is no file): ")
}

func TestCheckAPI(t *testing.T) {
	for _, c := range []struct {
		status     int
		body, want string
	}{
		{200, `{"status":"ok","synced":"2026-02-24T12:00:00Z"}`, "ok   HTTP interface at %s: the bot is well"},
		{503, `{"error":"The bot is starting","synced":"0001-01-01T00:00:00Z"}`, "FAIL HTTP interface at %s: the bot is not well (The bot is starting)"},
		{200, `<html>`, "FAIL HTTP interface: another program than the bot answers at %s (200 to /healthz): stop that, "},
		{404, `{"error":"Not found"}`, "FAIL HTTP interface: another program than the bot answers at %s (404 "},
		{503, `<html>`, "FAIL HTTP interface: another program than the bot answers at %s (503 "},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/healthz" || r.Header.Get("Authorization") != "" {
				t.Errorf("asked for %s with %q", r.URL, r.Header)
			}
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
		}))
		address := strings.TrimPrefix(server.URL, "http://")
		begins(t, checkAPI(t.Context(), &Config{APIListen: Listen(address)}), fmt.Sprintf(c.want, address))
		server.Close()
	}
	free := strings.TrimPrefix(closedPort(t), "http://")
	begins(t, checkAPI(t.Context(), &Config{APIListen: Listen(free)}), "skip HTTP interface: nobody listens at "+free+", for the bot does not run")
	begins(t, checkAPI(t.Context(), &Config{APIListen: "127.0.0.1:0"}), "skip HTTP interface: API_LISTEN is 127.0.0.1:0, a port that is chosen at each start")

	// A program that listens and does not speak HTTP.
	deaf := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer deaf.Close()
	address := strings.TrimPrefix(deaf.URL, "http://")
	begins(t, checkAPI(t.Context(), &Config{APIListen: Listen(address)}), "FAIL HTTP interface at "+address+" does not answer (")
}

func TestNearAddress(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:8080": "127.0.0.1:8080", "0.0.0.0:8080": "127.0.0.1:8080", "[::]:8080": "[::1]:8080",
		"[::1]:8080": "[::1]:8080", "bot.example.org:80": "bot.example.org:80", "127.0.0.1:0": "", "": "",
	} {
		if got := nearAddress(listen); got != want {
			t.Errorf("nearAddress(%q) = %q, want %q", listen, got, want)
		}
	}
}

// A service that takes the connection and says nothing is told of once, and what
// it would have been asked is left out.
func TestPodmanDoesNotAnswer(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "podman.sock")
	mute, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	var found []finding
	checkPodman(ctx, &Config{ContainerHost: SocketURI("unix://" + socket)}, func(f finding) { found = append(found, f) })
	if len(found) != 2 {
		t.Fatalf("found %v", found)
	}
	begins(t, found[0], "ok   socket "+socket)
	begins(t, found[1], "FAIL podman at unix://"+socket+" does not answer: ")
}
