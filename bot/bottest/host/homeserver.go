package host

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	_ "modernc.org/sqlite" // the databases of homeservers
)

// Software is a homeserver program: Dendrite or Synapse. With either, anybody can register an account.
type Software interface {
	Name() string
	// Missing says what of it this host lacks, "" for nothing.
	Missing() string
	// Command runs it in the foreground, with everything it stores in a folder.
	Command(data string, port int) (argv, env []string)
	// Limit makes it limit how often people send messages, except for one user, from its next start on.
	Limit(ctx context.Context, data, except string) error
	// Uploads lists the files that a user has uploaded.
	Uploads(ctx context.Context, data, user string) ([]Upload, error)
}

// Upload is a file on a homeserver, with the type and the name that the uploader gave it.
type Upload struct{ ID, Type, Name string }

// Chosen is the homeserver that tests run on: the value of MATRIX_TUI_HOMESERVER, by default Dendrite. Scripts is the
// folder deploy of the repository.
func Chosen(scripts string) (Software, error) {
	switch name := os.Getenv("MATRIX_TUI_HOMESERVER"); name {
	case "", "dendrite":
		return Dendrite(scripts), nil
	case "synapse":
		return Synapse(scripts), nil
	default:
		return nil, fmt.Errorf("MATRIX_TUI_HOMESERVER=%s: dendrite and synapse are known", name)
	}
}

// Homeserver is one on a loopback port.
type Homeserver struct {
	Software
	dir  string
	port int

	mu   sync.Mutex // guards the fields below
	proc *Process
}

// NewHomeserver prepares one in dir; Start runs it.
func NewHomeserver(dir string, software Software) (*Homeserver, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create folder of the homeserver: %w", err)
	}
	return &Homeserver{Software: software, dir: dir, port: port}, nil
}

// Data is the folder that its start script fills: configuration, databases, media.
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
	argv, env := h.Command(h.Data(), h.port)
	proc, err := Launch(h.dir, filepath.Join(h.dir, "homeserver.log"), append(os.Environ(), env...), argv...)
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

// Cached is the folder that a variable names, or else the one of that name among what the scripts in deploy keep.
func Cached(variable, name string) string {
	if dir := os.Getenv(variable); dir != "" {
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
	return filepath.Join(cache, name)
}

// Analyze runs ANALYZE on the homeserver's SQLite databases. Dendrite never does, and without it, SQLite scans
// all events of the homeserver for those of a room.
func (h *Homeserver) Analyze(ctx context.Context) error {
	paths, err := filepath.Glob(filepath.Join(h.Data(), "*.db"))
	if err != nil {
		return fmt.Errorf("list databases of the homeserver: %w", err)
	}
	for _, path := range paths {
		db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(60000)")
		if err != nil {
			return fmt.Errorf("open database of the homeserver: %w", err)
		}
		_, err = db.ExecContext(ctx, "ANALYZE")
		if err := errors.Join(err, db.Close()); err != nil {
			return fmt.Errorf("analyze %s: %w", filepath.Base(path), err)
		}
	}
	return nil
}

// uploads reads a homeserver's SQLite database.
func uploads(ctx context.Context, path, query, user string) ([]Upload, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro&_pragma=busy_timeout(2000)")
	if err != nil {
		return nil, fmt.Errorf("open database of the homeserver: %w", err)
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, query, user)
	if err != nil {
		return nil, fmt.Errorf("list uploads: %w", err)
	}
	defer rows.Close()
	var list []Upload
	for rows.Next() {
		var up Upload
		if err := rows.Scan(&up.ID, &up.Type, &up.Name); err != nil {
			return nil, fmt.Errorf("list uploads: %w", err)
		}
		list = append(list, up)
	}
	return list, rows.Err()
}
