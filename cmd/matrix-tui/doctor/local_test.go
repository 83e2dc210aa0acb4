package doctor

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
	"matrix-tui/cmd/matrix-tui/clitest"
	"matrix-tui/cmd/matrix-tui/settings"
)

func TestCheckPolicy(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "policy.yaml")
	begins(t, checkPolicy(dir), "ok   policy "+path+" does not exist, which is fine: MATRIX_ALLOW says who may use the bot, and these commands need approval: git push, ")
	begins(t, checkPolicy(filepath.Join(dir, "new")), "ok   policy "+dir+"/new/policy.yaml does not exist")
	for text, want := range map[string]string{
		"":                                  "ok   policy " + path,
		"defaults: {approvals: [git push]}": "ok   policy " + path,
		"defaults: {aprovals: [git push]}":  "FAIL policy " + path + " is invalid (",
		"rooms: {den: {}}":                  "FAIL policy " + path + " is invalid (line 1: rooms: \"den\" is not a room ID; ",
		"rooms: {\"!" + strings.Repeat("a", 43) + ":x.org\": {reply: all}}": "FAIL policy " + path + ": no room has the ID !aaa",
		strings.Repeat("#", policy.MaxFile+1):                               "FAIL policy " + path + " is invalid (it is larger than 1 MiB): fix or remove it; ",
		"defaults: [\x1b[31m" + clitest.Hidden + "\x00":                     "FAIL policy " + path + " is invalid (",
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
	begins(t, checkPolicy(dir), "FAIL policy "+path+" is invalid (it is not a regular file): ")
}

func TestCheckAPI(t *testing.T) {
	for _, c := range []struct {
		status     int
		body, want string
	}{
		{200, `{"status":"ok","synced":"2026-02-24T12:00:00Z"}`, "ok   HTTP API at %s: the bot is healthy"},
		{503, `{"error":"The bot is starting","synced":"0001-01-01T00:00:00Z"}`, "FAIL HTTP API at %s: the bot is unhealthy (The bot is starting)"},
		{200, `<html>`, "FAIL HTTP API: a program other than the bot answers at %s (200 for /healthz): stop it, "},
		{404, `{"error":"Not found"}`, "FAIL HTTP API: a program other than the bot answers at %s (404 "},
		{503, `<html>`, "FAIL HTTP API: a program other than the bot answers at %s (503 "},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/healthz" || r.Header.Get("Authorization") != "" {
				t.Errorf("asked for %s with %q", r.URL, r.Header)
			}
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
		}))
		address := strings.TrimPrefix(server.URL, "http://")
		begins(t, checkAPI(t.Context(), &settings.Config{APIListen: settings.Listen(address)}), fmt.Sprintf(c.want, address))
		server.Close()
	}
	free := strings.TrimPrefix(closedPort(t), "http://")
	begins(t, checkAPI(t.Context(), &settings.Config{APIListen: settings.Listen(free)}), "skip HTTP API: nothing listens at "+free+" because the bot is not running")
	begins(t, checkAPI(t.Context(), &settings.Config{APIListen: "127.0.0.1:0"}), "skip HTTP API: API_LISTEN is 127.0.0.1:0, so the port is chosen at each start")

	// A program that listens but does not speak HTTP.
	deaf := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer deaf.Close()
	address := strings.TrimPrefix(deaf.URL, "http://")
	begins(t, checkAPI(t.Context(), &settings.Config{APIListen: settings.Listen(address)}), "FAIL HTTP API at "+address+" does not answer (")
}

func TestCheckPage(t *testing.T) {
	bot := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/static/icon.svg" {
			http.NotFound(w, r)
		}
	}))
	defer bot.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	at := func(url string) string { return strings.TrimPrefix(url, "http://") }
	free := at(closedPort(t))
	for _, c := range []struct{ listen, url, api, want string }{
		{at(bot.URL), "", "", "ok   page at " + at(bot.URL) + ", for browsers " + bot.URL},
		{at(bot.URL), "https://bot.here", "127.0.0.1:1", "ok   page at " + at(bot.URL) + ", for browsers https://bot.here"},
		{at(bot.URL), "", at(bot.URL), "FAIL page: WEB_LISTEN and API_LISTEN are both " + at(bot.URL)},
		{"", "https://bot.here", "", "skip page: WEB_URL is set but WEB_LISTEN is not"},
		{at(other.URL), "", "", "FAIL page: a program other than the bot answers at " + at(other.URL) + " (404 for /static/icon.svg)"},
		{free, "", "", "skip page: nothing listens at " + free + " because the bot is not running"},
		{"127.0.0.1:0", "", "", "skip page: WEB_LISTEN is 127.0.0.1:0"},
	} {
		begins(t, checkPage(t.Context(), &settings.Config{WebListen: settings.Listen(c.listen), WebURL: settings.WebAddress(c.url),
			APIListen: settings.Listen(c.api)}), c.want)
	}
}

// A running bot reports about itself what the command prints, but logs in nowhere and asks no model.
func TestReport(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; r.Method != http.MethodGet {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		fmt.Fprint(w, `{"versions":["v1.11"]}`)
	}))
	defer server.Close()
	dir := t.TempDir()
	cfg := &settings.Config{Homeserver: settings.WebAddress(server.URL), User: "bot", Password: settings.NewSecret(clitest.Hidden),
		GeminiKey: settings.NewSecret(clitest.Hidden), GeminiURL: settings.WebAddress(server.URL), StateDir: settings.Folder(dir),
		ContainerHost: settings.SocketURI("unix://" + dir + "/none")}
	var said strings.Builder
	for _, f := range Report(t.Context(), cfg) {
		fmt.Fprintln(&said, f)
	}
	for _, want := range []string{"ok   state folder " + dir, "FAIL socket " + dir + "/none", "ok   homeserver ", "ok   identities: "} {
		if !strings.Contains("\n"+said.String(), "\n"+want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if asked != 2 || strings.Contains(said.String(), " login") || strings.Contains(said.String(), " model") || clitest.Leaks(said.String()) {
		t.Errorf("after %d requests:\n%s", asked, &said)
	}
}

// A service that accepts connections and says nothing is reported once, and the checks that depend on it are left out.
func TestPodmanDoesNotAnswer(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "podman.sock")
	mute, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	var found []Finding
	checkPodman(ctx, &settings.Config{ContainerHost: settings.SocketURI("unix://" + socket)}, false, func(f Finding) { found = append(found, f) })
	if len(found) != 2 {
		t.Fatalf("found %v", found)
	}
	begins(t, found[0], "ok   socket "+socket)
	begins(t, found[1], "FAIL podman at unix://"+socket+" does not answer: ")
}

// Podman's service says what database it has; what is newer than what was tested is named.
func TestPodmanDatabase(t *testing.T) {
	for _, c := range []struct{ version, database, says string }{
		{"6.1.0", "sqlite", "ok   podman 6.1.0 at unix://%s; the bot was tested with podman 4.3 to 5.8"},
		{"5.7.1", "sqlite", "ok   podman 5.7.1 at unix://%s"},
		{"5.7.1", "boltdb", "ok   podman keeps its containers and volumes in BoltDB, which podman 6 does not use: before you install podman 6, install podman 5.8 and reboot"},
		{"4.3.1", "", "ok   podman 4.3.1 at unix://%s"},
	} {
		socket := filepath.Join(t.TempDir(), "podman.sock")
		l, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		service := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Libpod-API-Version", c.version)
			switch {
			case strings.HasSuffix(r.URL.Path, "/version"):
				fmt.Fprintf(w, `{"Version":%q,"ApiVersion":"1.41","Components":[{"Name":"Podman Engine","Version":%q,"Details":{"APIVersion":%q,"BuildTime":"2026-01-01T00:00:00Z"}}]}`, c.version, c.version, c.version)
			case strings.HasSuffix(r.URL.Path, "/info"):
				fmt.Fprintf(w, `{"host":{"databaseBackend":%q,"security":{}},"store":{"graphRoot":"/","graphDriverName":"overlay"}}`, c.database)
			case strings.HasSuffix(r.URL.Path, "/_ping"):
			default:
				http.Error(w, `{"cause":"no such image","message":"no such image","response":404}`, http.StatusNotFound)
			}
		})}
		go service.Serve(l)
		var found []string
		checkPodman(t.Context(), &settings.Config{ContainerHost: settings.SocketURI("unix://" + socket), StateDir: settings.Folder(t.TempDir())}, true, func(f Finding) { found = append(found, f.String()) })
		service.Close()
		all, want := strings.Join(found, "\n")+"\n", strings.ReplaceAll(c.says, "%s", socket)
		if !strings.Contains(all, want) || strings.Contains(all, "BoltDB") != (c.database == "boltdb") || strings.Contains(all, "tested with") != (c.version == "6.1.0") {
			t.Errorf("podman %s with %q: %s", c.version, c.database, all)
		}
	}
}
