package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"matrix-tui/bot/bottest/oauthserver"
	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/clitest"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/state"
)

// confirming is an output whose reader confirms, or refuses, the code that is printed there.
type confirming struct {
	io.Writer
	found func(code string)
}

func (c *confirming) Write(p []byte) (int, error) {
	if code := regexp.MustCompile(`confirm the code (\S+) within`).FindSubmatch(p); code != nil {
		c.found(string(code[1]))
	}
	return c.Writer.Write(p)
}

func TestLogin(t *testing.T) {
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Device     string `json:"device_id"`
			Identifier struct{ User string }
		}
		_ = json.NewDecoder(r.Body).Decode(&asked)
		if strings.HasSuffix(r.URL.Path, "/login") {
			_ = json.NewEncoder(w).Encode(map[string]string{"access_token": asked.Identifier.User + " " + asked.Device})
			return
		}
		user, device, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), " ")
		_ = json.NewEncoder(w).Encode(map[string]string{"user_id": "@" + user + ":here", "device_id": device})
	}))
	defer behind.Close()
	server, err := oauthserver.New(behind.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	dir := t.TempDir()
	environ := []string{"MATRIX_HOMESERVER=" + server.URL(), "MATRIX_USER=@bot:here", "STATE_DIR=" + dir}
	as := func(user string, args ...string) (said string, code int) {
		t.Helper()
		var out strings.Builder
		a := &cli.App{Environ: environ, Dir: t.TempDir(), Stderr: &out}
		a.Stdout = &confirming{&out, func(code string) {
			if user == "" {
				server.Deny(code)
			} else if err := server.Confirm(t.Context(), code, user, "word"); err != nil {
				t.Error(err)
			}
		}}
		code = cli.Dispatch(t.Context(), a, doctorCommands, append([]string{"login"}, args...))
		return out.String(), code
	}
	stored := func() (data string, l cli.StoredLogin) {
		t.Helper()
		raw, err := os.ReadFile(filepath.Join(dir, "account.json"))
		if errors.Is(err, os.ErrNotExist) {
			return "", l
		}
		info, statErr := os.Stat(filepath.Join(dir, "account.json"))
		if err != nil || statErr != nil || info.Mode().Perm() != 0o600 || json.Unmarshal(raw, &l) != nil {
			t.Fatal(err, statErr, info.Mode())
		}
		return string(raw), l
	}
	cfg := &settings.Config{Homeserver: settings.WebAddress(server.URL()), User: "@bot:here", StateDir: settings.Folder(dir)}
	checks := func(l cli.StoredLogin) string { return checkLogin(t.Context(), cfg, l).String() }

	if said, code := as(""); code != 1 || !strings.Contains(said, "The login was refused in the browser.") {
		t.Errorf("refused: %d, %s", code, said)
	}
	said, code := as("alice")
	if code != 1 || !strings.Contains(said, "confirmed as @alice:here, but MATRIX_USER is @bot:here") {
		t.Errorf("somebody else: %d, %s", code, said)
	}
	if data, _ := stored(); data != "" {
		t.Error("stored", data)
	}
	said, code = as("bot", "-if-needed")
	first, l := stored()
	if code != 0 || !strings.Contains(said, "Open "+server.URL()+"/link?code=") || !strings.Contains(said, "Logged in as @bot:here, device ") || !l.Fits(cfg) || l.Ended() {
		t.Errorf("%d, %s, %s", code, said, first)
	}
	if said := checks(l); said != "ok   login as @bot:here with the stored login" {
		t.Error(said)
	}
	if said, code := as("bot", "-if-needed"); code != 0 || said != "" {
		t.Errorf("again: %d, %s", code, said)
	}
	server.EndAll()
	if said := checks(l); !strings.HasPrefix(said, "FAIL login: the homeserver no longer accepts the stored login") || !strings.Contains(said, "`matrix-tui login`") {
		t.Error(said)
	}
	l.OAuth.Expires = time.Now().Add(-time.Second)
	if said := checks(l); !strings.HasPrefix(said, "skip login: the stored access token has expired") {
		t.Error(said)
	}
	l.OAuth.Refresh = settings.Secret{}
	if said := checks(l); !strings.HasPrefix(said, "FAIL login: the homeserver has ended the bot's login: run `matrix-tui login`") {
		t.Error(said)
	}
	lock, err := state.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if said, code := as("bot"); code != 1 || !strings.Contains(said, "A bot already runs") {
		t.Errorf("while the bot runs: %d, %s", code, said)
	}
	var account map[string]any
	if err := json.Unmarshal([]byte(first), &account); err != nil {
		t.Fatal(err)
	}
	account["oauth"].(map[string]any)["refresh_token"] = ""
	data, err := json.Marshal(account)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "account.json"), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	said, code = as("bot") // the bot waits for this
	if after, l := stored(); code != 0 || l.Ended() || !strings.Contains(after, account["device_id"].(string)) || after == first {
		t.Errorf("after the end: %d, %s, %s", code, said, after)
	}
	if err := lock.Close(); err != nil {
		t.Error(err)
	}
	before, _ := stored()
	if said, code := as("bot"); code != 0 || strings.Contains(said, account["device_id"].(string)) {
		t.Errorf("a new device: %d, %s", code, said)
	}
	if after, _ := stored(); after == before || clitest.Leaks(said) {
		t.Error(said)
	}
	ctx, cancel := context.WithCancel(t.Context())
	a := &cli.App{Environ: environ, Dir: t.TempDir(), Stderr: io.Discard, Stdout: &confirming{io.Discard, func(string) { cancel() }}}
	if code := cli.Dispatch(ctx, a, doctorCommands, []string{"login"}); code != 1 {
		t.Error("interrupted:", code)
	}
	cfg.Password = settings.NewSecret("word")
	if said := checks(cli.StoredLogin{}); !strings.Contains(said, "has no login with a password: run `matrix-tui login`") {
		t.Error(said)
	}
	if wrong := server.Refused(); wrong != nil {
		t.Error(wrong)
	}
}

func TestLoginElsewhere(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/v3/login") {
			_, _ = w.Write([]byte(`{"flows":[{"type":"m.login.password"}]}`))
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	for _, c := range []struct {
		environ, args, want string
		code                int
	}{
		{"", "login", "offers no OAuth 2.0 login with a code: set MATRIX_PASSWORD or MATRIX_ACCESS_TOKEN.", 1},
		{"MATRIX_PASSWORD=word", "login -if-needed", "", 0},
		{"MATRIX_ACCESS_TOKEN=word", "login -if-needed", "", 0},
		{"MATRIX_USER=", "login", "MATRIX_USER is missing", 2},
	} {
		environ := []string{"MATRIX_HOMESERVER=" + server.URL, "MATRIX_USER=@bot:here", "STATE_DIR=" + t.TempDir()}
		if c.environ != "" {
			environ = append(environ, c.environ)
		}
		got := clitest.Play(t, t.Context(), doctorCommands, environ, strings.Fields(c.args)...)
		if got.Code != c.code || !strings.Contains(got.Stderr, c.want) || got.Stdout != "" || c.want == "" && got.Stderr != "" {
			t.Errorf("%s %s: %+v", c.environ, c.args, got)
		}
	}
}
