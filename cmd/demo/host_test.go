package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"matrix-tui/bot/bottest/host"
	"matrix-tui/sandbox"
)

// bench is what the demo needs from a machine: the bot's program, a homeserver and podman.
type bench struct {
	program, homeserver, podman, image string
	dir                                string // short, because it contains sockets
}

// need skips a test, or fails it if the real parts are required.
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

// newBench starts parts of its own and stops them with the test.
func newBench(t *testing.T) *bench {
	t.Helper()
	h := &bench{image: cmp.Or(os.Getenv("SANDBOX_IMAGE"), "localhost/matrix-tui-sandbox:latest"), podman: os.Getenv("CONTAINER_HOST")}
	_, err := exec.LookPath("podman")
	need(t, err == nil, "podman")
	need(t, exec.CommandContext(t.Context(), "podman", "image", "exists", h.image).Run() == nil, "image "+h.image)
	scripts, err := filepath.Abs("../../deploy")
	if err != nil {
		t.Fatal(err)
	}
	dendrite := host.Dendrite(scripts)
	need(t, dendrite.Missing() == "", dendrite.Missing())
	if h.dir, err = os.MkdirTemp("", "mtd-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(h.dir) })
	h.program = filepath.Join(h.dir, "matrix-tui")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", h.program, "matrix-tui/cmd/matrix-tui")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the bot: %v\n%s", err, out)
	}
	if h.podman == "" {
		service := &host.PodmanService{Socket: filepath.Join(h.dir, "podman.sock"), Log: filepath.Join(h.dir, "podman.log")}
		h.podman = service.URI()
		begin(t, service)
	}
	home, err := host.NewHomeserver(filepath.Join(h.dir, "hs"), dendrite)
	if err != nil {
		t.Fatal(err)
	}
	h.homeserver = home.URL()
	begin(t, home)
	return h
}

// begin runs a part until the test ends.
func begin(t *testing.T, part interface {
	Start(context.Context) error
	Stop(context.Context) error
}) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := part.Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := part.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// ask runs a subcommand of the bot's program with only these settings.
func (h *bench) ask(t *testing.T, ctx context.Context, environ []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, h.program, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = t.TempDir(), environ, &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
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

// lines is a pipe that contains these lines and has ended.
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
func (h *bench) devices(t *testing.T, ctx context.Context, state string) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(state, "account.json"))
	if err != nil {
		t.Fatal(err)
	}
	var stored struct {
		Token string `json:"access_token"`
	}
	if err := json.Unmarshal(data, &stored); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.homeserver+"/_matrix/client/v3/devices", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+stored.Token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Devices []json.RawMessage `json:"devices"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || len(answer.Devices) == 0 {
		t.Fatalf("devices of the bot: %s, %v, %d of them", resp.Status, err, len(answer.Devices))
	}
	return len(answer.Devices)
}

// removeContainer removes the room's container and volumes.
func (h *bench) removeContainer(t *testing.T) {
	known, err := loadAccounts(filepath.Join(h.dir, "demo"))
	if err != nil || known.Room == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := host.RemoveContainers(ctx, []string{sandbox.NameFor(known.Room)}); err != nil {
		t.Error(err)
	}
}
