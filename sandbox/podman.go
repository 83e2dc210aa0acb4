package sandbox

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/containers/podman/v5/libpod/define"
	"github.com/containers/podman/v5/pkg/bindings"
	"github.com/containers/podman/v5/pkg/bindings/images"
	"github.com/containers/podman/v5/pkg/bindings/system"
	"github.com/rs/zerolog"

	"matrix-tui/bot/crash"
	"matrix-tui/state/keyed"
)

// Podman is a connection to podman's service. It is safe for concurrent use.
type Podman struct {
	log    zerolog.Logger
	values context.Context // carries the bindings' client; never cancelled
	client *bindings.Connection

	names         keyed.Locks // one Ensure, Stop or Destroy per name at a time
	slots         sync.Mutex  // locked while a slot is chosen and stored on a volume
	warned        sync.Map    // warnings already logged
	limitTogether sync.Once
	uses          uses // when each container was last used
	offers        offers
	ensured       sync.Map      // by name: what the last Ensure of it returned
	startTime     time.Duration // see Run; 0 = startTime

	packages imagePackages
	fewFiles atomic.Bool // see refusesFiles

	asking     keyed.Locks  // locked while what follows is found out
	host       *host        // nil until then
	known      *define.Info // what podman says about its host; nil unless somebody has asked
	storage    string       // podman's folder; "" until somebody has asked
	stopAsking func()
}

// Connect connects to podman's service at uri ("unix:///…/podman.sock"). If uri is
// empty, it uses $CONTAINER_HOST, or else the default socket of the current user. It
// returns ErrUnreachable if nothing answers there.
func Connect(ctx context.Context, uri string, log zerolog.Logger) (*Podman, error) {
	if uri == "" {
		uri = os.Getenv("CONTAINER_HOST")
	}
	if uri == "" {
		uri = defaultSocket(os.Getuid(), os.Getenv("XDG_RUNTIME_DIR"))
	}
	if !strings.HasPrefix(uri, "unix:") {
		return nil, fmt.Errorf("connect to podman at %q: want unix:///path/of/podman.sock", uri)
	}
	values, err := bindings.NewConnection(ctx, uri)
	if err != nil {
		return nil, explain(err, "connect to podman at", uri)
	}
	p := &Podman{log: log, values: context.WithoutCancel(values)}
	if p.client, err = bindings.GetClient(values); err != nil {
		return nil, err
	}
	if t, ok := p.client.Client.Transport.(*http.Transport); ok {
		t.MaxIdleConnsPerHost = 8
		t.IdleConnTimeout = 30 * time.Second
		p.client.Client.Transport = crash.Requests("podman", t)
	}
	p.askAhead()
	return p, nil
}

// defaultSocket returns the default path of podman's socket for a user.
func defaultSocket(uid int, runtimeDir string) string {
	if uid == 0 {
		return "unix:///run/podman/podman.sock"
	}
	if runtimeDir == "" {
		runtimeDir = fmt.Sprintf("/run/user/%d", uid)
	}
	return "unix://" + filepath.Join(runtimeDir, "podman/podman.sock")
}

// Close closes idle connections, and those that containers offer from now on. It does not touch containers or runs.
func (p *Podman) Close() {
	p.stopAsking()
	p.offers.close()
	p.client.Client.CloseIdleConnections()
}

// Version returns the version of podman's service, such as "4.3.1".
func (p *Podman) Version(ctx context.Context) (string, error) {
	report, err := system.Version(p.with(ctx), nil)
	if err != nil {
		return "", explain(err, "ask", "podman's version")
	}
	return report.Server.Version, nil
}

// Socket returns the path of podman's socket.
func (p *Podman) Socket() string { return p.client.URI.Path }

// ImageID returns the ID of a local image, or ErrImageMissing.
func (p *Podman) ImageID(ctx context.Context, image string) (string, error) {
	report, err := images.GetImage(p.with(ctx), image, nil)
	if err != nil {
		return "", explain(err, "look for image", image)
	}
	return report.ID, nil
}

// with returns the caller's context with the bindings' client in it.
func (p *Podman) with(ctx context.Context) context.Context {
	return callContext{ctx, p.values}
}

// callContext has the caller's deadline and cancellation and the bindings' values.
type callContext struct {
	context.Context
	values context.Context
}

func (c callContext) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.values.Value(key)
}

// warnOnce logs a warning about a cgroup controller the first time.
func (p *Podman) warnOnce(controller, message string) {
	if _, said := p.warned.LoadOrStore(controller, true); !said {
		p.log.Warn().Str("controller", controller).Msg(message)
	}
}
