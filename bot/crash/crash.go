//go:build crashtest

package crash

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"modernc.org/sqlite"
)

// At kills the process with SIGKILL if MATRIX_TUI_KILL_AT names this point. The
// conversation tests use it.
func At(point string) {
	if os.Getenv("MATRIX_TUI_KILL_AT") == point {
		kill()
	}
}

func kill() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// counter counts effects while MATRIX_TUI_KILLS names a folder that has a file "at". The
// file holds the number of the effect before which the process dies; 0 only counts. Each
// effect becomes a line of the file "log", the last one also the file "killed".
var counter struct {
	dir  string
	lock sync.Mutex
	n    int
}

func init() {
	if counter.dir = os.Getenv("MATRIX_TUI_KILLS"); counter.dir == "" {
		return
	}
	// Every commit of every database, before it happens.
	sqlite.RegisterConnectionHook(func(conn sqlite.ExecQuerierContext, dsn string) error {
		name := dsn
		if u, err := url.Parse(dsn); err == nil {
			name = filepath.Base(u.Path + u.Opaque)
		}
		conn.(sqlite.HookRegisterer).RegisterCommitHook(func() int32 {
			Count("commit " + name)
			return 0
		})
		return nil
	})
}

// Count is called before every effect that outlives the process, and kills the process if
// it is that effect's turn.
func Count(effect string) {
	if counter.dir == "" {
		return
	}
	counter.lock.Lock()
	defer counter.lock.Unlock()
	at, err := os.ReadFile(filepath.Join(counter.dir, "at"))
	if err != nil {
		return
	}
	counter.n++
	line := fmt.Sprintf("%d %s\n", counter.n, effect)
	note("log", line)
	if n, err := strconv.Atoi(strings.TrimSpace(string(at))); err == nil && n == counter.n {
		note("killed", line)
		kill()
	}
}

func note(name, line string) {
	file, err := os.OpenFile(filepath.Join(counter.dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	if _, err := file.WriteString(line); err != nil {
		panic(err)
	}
}

// Requests counts the requests to a server that change something there, and each /sync,
// which acknowledges the one before. Signs of life change nothing that lasts.
func Requests(to string, next http.RoundTripper) http.RoundTripper {
	if counter.dir == "" {
		return next
	}
	return counting{to, next}
}

type counting struct {
	to   string
	next http.RoundTripper
}

var (
	alive = regexp.MustCompile(`/(typing|receipt|read_markers)/`)
	names = regexp.MustCompile(`/[^/]*[^a-z0-9_./][^/]*|/[^/]{20,}`) // of rooms, containers …
)

func (c counting) RoundTrip(req *http.Request) (*http.Response, error) {
	path := req.URL.EscapedPath()
	changes := req.Method != http.MethodGet && req.Method != http.MethodHead && !alive.MatchString(path)
	if changes || strings.HasSuffix(path, "/sync") {
		Count(c.to + " " + req.Method + " " + names.ReplaceAllString(path, "/…"))
	}
	return c.next.RoundTrip(req)
}

// CloseIdleConnections is what [http.Client.CloseIdleConnections] calls.
func (c counting) CloseIdleConnections() {
	if next, ok := c.next.(interface{ CloseIdleConnections() }); ok {
		next.CloseIdleConnections()
	}
}
