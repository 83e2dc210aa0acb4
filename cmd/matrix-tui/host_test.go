package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"matrix-tui/bot/bottest"
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

// removeContainer removes the room's container and volumes.
func (h *host) removeContainer(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(h.dir, "demo", "accounts.json"))
	var known accounts
	if err != nil || json.Unmarshal(data, &known) != nil || known.Room == "" {
		return
	}
	name := sandbox.NameFor(known.Room)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := bottest.RemoveBoxes(ctx, []string{name}); err != nil {
		t.Error(err)
	}
}
