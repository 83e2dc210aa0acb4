package host

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

// Homeserver is a Dendrite on a loopback port.
type Homeserver struct {
	dir, script, bins string
	port              int

	mu   sync.Mutex // guards the fields below
	proc *Process
}

// NewHomeserver prepares one in dir; Start runs it.
func NewHomeserver(dir, script, bins string) (*Homeserver, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create folder of the homeserver: %w", err)
	}
	return &Homeserver{dir: dir, script: script, bins: bins, port: port}, nil
}

// Data is the folder that the start script fills: dendrite.yaml and databases.
func (h *Homeserver) Data() string { return filepath.Join(h.dir, "data") }

func (h *Homeserver) URL() string { return "http://127.0.0.1:" + strconv.Itoa(h.port) }

// Start runs the homeserver, if it is not running, and returns when it answers. Dendrite may exit by itself when SQLite
// is busy: the current script fails, and the next one starts it again.
func (h *Homeserver) Start(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.proc.Alive() {
		return nil
	}
	env := append(os.Environ(), "MATRIX_TUI_DENDRITE="+h.bins)
	proc, err := Launch(h.dir, filepath.Join(h.dir, "homeserver.log"), env,
		h.script, h.Data(), strconv.Itoa(h.port))
	if err != nil {
		return err
	}
	h.proc = proc
	err = Poll(ctx, func() (bool, error) {
		if !proc.Alive() {
			return false, fmt.Errorf("homeserver ended: %w", proc.Err)
		}
		resp, err := http.Get(h.URL() + "/_matrix/client/versions")
		if err != nil {
			return false, nil
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK, nil
	})
	if err != nil {
		return fmt.Errorf("start homeserver: %w\n%s", err, Tail(proc.Log, 4000))
	}
	return nil
}

// Stop kills it, like a power cut.
func (h *Homeserver) Stop(ctx context.Context) error {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.proc == nil {
		return nil
	}
	return h.proc.Signal(ctx, syscall.SIGKILL)
}

// Died returns what the homeserver logged before it exited by itself, "" while it runs or after Stop.
func (h *Homeserver) Died() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.proc == nil || h.proc.Alive() {
		return ""
	}
	if _, by := h.proc.Ended(); by == syscall.SIGKILL {
		return ""
	}
	return Tail(h.proc.Log, 6000)
}

// FreePort returns a loopback port on which nothing listens at the moment.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// DendriteFolder is the folder of the homeserver's programs.
func DendriteFolder() string {
	if dir := os.Getenv("MATRIX_TUI_DENDRITE"); dir != "" {
		return dir
	}
	cache := os.Getenv("MATRIX_TUI_CACHE")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		cache = filepath.Join(user, "matrix-tui")
	}
	return filepath.Join(cache, "bin")
}
