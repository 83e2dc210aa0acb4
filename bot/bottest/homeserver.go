package bottest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// homeserver is a Dendrite of our own on a loopback port.
type homeserver struct {
	dir, script, bins string
	port              int

	mu   sync.Mutex // guards what follows
	proc *process
}

// newHomeserver prepares one in dir; start runs it.
func newHomeserver(dir, script, bins string) (*homeserver, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make folder of the homeserver: %w", err)
	}
	return &homeserver{dir: dir, script: script, bins: bins, port: port}, nil
}

// data is the folder that the start script fills: dendrite.yaml and databases.
func (h *homeserver) data() string { return filepath.Join(h.dir, "data") }

func (h *homeserver) url() string { return "http://127.0.0.1:" + strconv.Itoa(h.port) }

// start runs the homeserver, unless it runs, and returns when it answers.
// Dendrite may end by itself, when SQLite is busy: the script that meets this
// fails, the next one starts it again.
func (h *homeserver) start(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.proc.alive() {
		return nil
	}
	env := append(os.Environ(), "MATRIX_TUI_DENDRITE="+h.bins)
	proc, err := launch(h.dir, filepath.Join(h.dir, "homeserver.log"), env,
		h.script, h.data(), strconv.Itoa(h.port))
	if err != nil {
		return err
	}
	h.proc = proc
	err = poll(ctx, func() (bool, error) {
		if !proc.alive() {
			return false, fmt.Errorf("homeserver ended: %w", proc.err)
		}
		resp, err := http.Get(h.url() + "/_matrix/client/versions")
		if err != nil {
			return false, nil
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK, nil
	})
	if err != nil {
		return fmt.Errorf("start homeserver: %w\n%s", err, tail(proc.log, 4000))
	}
	return nil
}

// stop takes it down at once, as a power cut would.
func (h *homeserver) stop(ctx context.Context) error {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.proc == nil {
		return nil
	}
	return h.proc.signal(ctx, syscall.SIGKILL)
}

// died tells what the homeserver said before it ended by itself, "" while it
// runs or was stopped.
func (h *homeserver) died() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.proc == nil || h.proc.alive() {
		return ""
	}
	if _, by := h.proc.ended(); by == syscall.SIGKILL {
		return ""
	}
	return tail(h.proc.log, 6000)
}

// freePort is a loopback port that nobody listens on at the moment.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
