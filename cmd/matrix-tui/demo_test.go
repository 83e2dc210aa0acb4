package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/agent/scripted"
	"matrix-tui/sandbox"
)

// host is what the demo needs of a machine: a homeserver and podman.
type host struct {
	homeserver, podman, image string
	dir                       string // short, because sockets lie below it
}

// need skips a test, or fails it where the real parts are required.
func need(t *testing.T, there bool, what string) {
	t.Helper()
	switch {
	case there:
	case os.Getenv("MATRIX_TUI_E2E") == "require":
		t.Fatalf("missing: %s", what)
	default:
		t.Skipf("NOT RUN, missing: %s (MATRIX_TUI_E2E=require makes this a failure)", what)
	}
}

// newHost starts the parts of its own and ends them with the test.
func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{image: os.Getenv("SANDBOX_IMAGE"), podman: os.Getenv("CONTAINER_HOST")}
	if h.image == "" {
		h.image = fieldOf("SANDBOX_IMAGE").Tag.Get("envDefault")
	}
	_, err := exec.LookPath("podman")
	need(t, err == nil, "podman")
	need(t, exec.CommandContext(t.Context(), "podman", "image", "exists", h.image).Run() == nil, "image "+h.image)
	bin := os.Getenv("MATRIX_TUI_DENDRITE")
	if bin == "" {
		cache, _ := os.UserCacheDir()
		bin = filepath.Join(cache, "matrix-tui", "bin")
	}
	_, err = os.Stat(filepath.Join(bin, "dendrite"))
	need(t, err == nil, "dendrite in "+bin)
	if h.dir, err = os.MkdirTemp("", "mtd-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(h.dir) })
	if h.podman == "" {
		h.podman = "unix://" + h.dir + "/podman.sock"
		h.start(t, "podman", "system", "service", "--time=0", h.podman)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	_ = listener.Close()
	h.homeserver = "http://127.0.0.1:" + port
	script, err := filepath.Abs(filepath.Join("..", "..", "deploy", "homeserver", "start"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("MATRIX_TUI_DENDRITE", bin)
	h.start(t, script, h.dir+"/hs", port)
	h.until(t, func() bool {
		return !checkHomeserver(t.Context(), &Config{Homeserver: WebAddress(h.homeserver)}).bad
	})
	return h
}

// start runs a program until the test ends, or the test's process.
func (h *host) start(t *testing.T, argv ...string) {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// until waits for what tells nobody when it happens.
func (h *host) until(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not happen within a minute")
		}
	}
}

// output is a writer that can be read while it is written.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// demo plays the demo with what r gives as its input, into out.
func (h *host) demo(t *testing.T, ctx context.Context, r *os.File, out *output) int {
	t.Helper()
	a := &app{
		environ: []string{"CONTAINER_HOST=" + h.podman, "SANDBOX_IMAGE=" + h.image},
		dir:     h.dir, stdin: r, stdout: out, stderr: out,
	}
	return a.main(ctx, []string{"demo", "-homeserver", h.homeserver, "-dir", "demo"})
}

// lines is a pipe that holds these lines and has ended.
func lines(t *testing.T, text string) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	if _, err := w.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestDemo(t *testing.T) {
	h := newHost(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	t.Cleanup(func() { h.removeBox(t) })

	t.Run("two tasks", func(t *testing.T) {
		var out output
		if code := h.demo(t, ctx, lines(t, "please write a note about cats\n\nhello there\n"), &out); code != 0 {
			t.Fatalf("code %d:\n%s", code, out.String())
		}
		for _, want := range []string{
			`homeserver  ` + regexp.QuoteMeta(h.homeserver), `user        you  \(@you:localhost\)`, `password    [a-z2-7]{20}`, `SCRIPTED MODEL`,
			`you: please write a note about cats`, `bot \(scripted model\): ⏳ Working on it`, `bot \(scripted model\): .*not Gemini.*\*\*The file is written`,
			`you: hello there`, `bot \(scripted model\): I am a scripted model, not Gemini, so this is all`, `bot \(scripted model\): ✅ Done in`,
		} {
			if !regexp.MustCompile(want).MatchString(out.String()) {
				t.Errorf("the chat lacks %q:\n%s", want, out.String())
			}
		}
		box := exec.CommandContext(ctx, "podman", "exec", sandbox.NameFor(h.accounts(t).Room), "cat", "/workspace/note.md")
		if note, err := box.Output(); err != nil || !strings.Contains(string(note), "note about cats") {
			t.Errorf("/workspace/note.md = %q, %v", note, err)
		}
	})
	room := h.accounts(t).Room

	t.Run("goes on in the same room", func(t *testing.T) {
		var out output
		if code := h.demo(t, ctx, lines(t, "who are you?\n/quit\nnot said\n"), &out); code != 0 {
			t.Fatalf("code %d:\n%s", code, out.String())
		}
		if got := h.accounts(t).Room; got != room {
			t.Errorf("room %s, before it was %s", got, room)
		}
		if text := out.String(); strings.Contains(text, "about cats") || strings.Contains(text, "not said") || !strings.Contains(text, "you: who are you?") {
			t.Errorf("the chat shows what is old, or what came behind /quit:\n%s", text)
		}
	})

	t.Run("ends on a signal", func(t *testing.T) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		defer w.Close()
		var out output
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		code := make(chan int, 1)
		go func() { code <- h.demo(t, ctx, r, &out) }()
		// The task of the time before was left without its answer: it comes now.
		h.until(t, func() bool { return strings.Contains(out.String(), "so this is all I can say") })
		stop()
		if got := <-code; got != 0 {
			t.Errorf("code %d:\n%s", got, out.String())
		}
	})

	t.Run("operator", func(t *testing.T) { h.operator(t, ctx) })
}

// accounts are what the demo has kept.
func (h *host) accounts(t *testing.T) *accounts {
	t.Helper()
	path := filepath.Join(h.dir, "demo", "accounts.json")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("%s has mode %v", path, info.Mode())
	}
	known, err := loadAccounts(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	return known
}

// operator asks doctor and rooms about the demo's bot.
func (h *host) operator(t *testing.T, ctx context.Context) {
	model := scripted.New(scripted.Demo(), zerolog.Nop())
	model.RequireKey(hidden)
	api := httptest.NewServer(model)
	defer api.Close()
	known := h.accounts(t)
	environ := func(state string, more ...string) []string {
		return append([]string{
			"CONTAINER_HOST=" + h.podman, "SANDBOX_IMAGE=" + h.image, "STATE_DIR=" + state, "MATRIX_HOMESERVER=" + h.homeserver,
			"MATRIX_USER=bot", "MATRIX_OWNERS=@you:localhost", "GEMINI_API_KEY=" + hidden, "GEMINI_BASE_URL=" + api.URL,
		}, more...)
	}
	state := filepath.Join(h.dir, "demo", "state")

	got := play(t, ctx, environ(state), "rooms")
	want := regexp.MustCompile(regexp.QuoteMeta(known.Room) + ` +matrix-tui demo +` + regexp.QuoteMeta(sandbox.NameFor(known.Room)) + ` +running +[-0-9]+ [:0-9]+  \w+ +who are you\?`)
	if got.code != 0 || !want.MatchString(got.stdout) {
		t.Errorf("rooms: code %d, %s%s", got.code, got.stdout, got.stderr)
	}

	before := h.devices(t, ctx, state)
	report := func(code int, line string, environ []string) {
		t.Helper()
		got := play(t, ctx, environ, "doctor")
		if got.code != code || !strings.Contains("\n"+got.stdout, "\n"+line) || leaks(got.stdout) || strings.Contains(got.stdout, known.Bot.Password) {
			t.Errorf("doctor: code %d, want %d and %q:\n%s%s", got.code, code, line, got.stdout, got.stderr)
		}
	}
	fresh := t.TempDir()
	report(0, "ok   login as @bot:localhost by the stored login", environ(state))
	report(0, "ok   login as @bot:localhost by MATRIX_PASSWORD", environ(fresh, "MATRIX_PASSWORD="+known.Bot.Password))
	report(0, "ok   model gemini-2.5-pro at "+api.URL, environ(state))
	report(1, "FAIL login as bot is refused (403 ", environ(fresh, "MATRIX_PASSWORD="+hidden))
	report(1, "FAIL login: the homeserver refuses MATRIX_ACCESS_TOKEN", environ(fresh, "MATRIX_ACCESS_TOKEN="+hidden))
	report(1, "FAIL image localhost/no-such-image is missing: run ./deploy/image/build", environ(state, "SANDBOX_IMAGE=localhost/no-such-image"))
	if after := h.devices(t, ctx, state); after != before {
		t.Errorf("doctor leaves devices behind: %d before, %d after", before, after)
	}
}

// devices counts the sessions of the demo's bot.
func (h *host) devices(t *testing.T, ctx context.Context, state string) int {
	t.Helper()
	stored := loadLogin(&Config{StateDir: Folder(state)})
	var answer struct {
		Devices []json.RawMessage `json:"devices"`
	}
	status, err := ask(ctx, request{url: h.homeserver + "/_matrix/client/v3/devices", bearer: stored.Token}, &answer)
	if err != nil || status != http.StatusOK || len(answer.Devices) == 0 {
		t.Fatalf("devices of the bot: %d, %v, %d of them", status, err, len(answer.Devices))
	}
	return len(answer.Devices)
}

// removeBox removes the room's container and volumes.
func (h *host) removeBox(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(h.dir, "demo", "accounts.json"))
	var known accounts
	if err != nil || json.Unmarshal(data, &known) != nil || known.Room == "" {
		return
	}
	name := sandbox.NameFor(known.Room)
	slug := strings.TrimPrefix(name, "sandbox-")
	for _, argv := range [][]string{{"rm", "--force", "--ignore", "--time", "0", name}, {"volume", "rm", "--force", "workspace-" + slug, "home-" + slug}} {
		if out, err := exec.Command("podman", argv...).CombinedOutput(); err != nil {
			t.Error(fmt.Errorf("podman %s: %w: %s", argv[0], err, out))
		}
	}
}
