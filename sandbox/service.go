package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/containers/podman/v5/libpod/define"
	"github.com/containers/podman/v5/pkg/bindings"
	"github.com/containers/podman/v5/pkg/bindings/containers"
	"github.com/containers/podman/v5/pkg/bindings/images"
	"github.com/rs/zerolog"

	"matrix-tui/bot/crash"
	"matrix-tui/state/keyed"
	"matrix-tui/state/retry"
)

// service is podman's service. It is safe for concurrent use.
type service struct {
	log    zerolog.Logger
	values context.Context // carries the bindings' client; never cancelled
	client *bindings.Connection

	warned sync.Map     // warnings already logged
	asking keyed.Locks  // locked while something is found out, or made
	known  *define.Info // what podman says about its host; nil until somebody has asked
}

// dial connects to podman's service at uri, which is $CONTAINER_HOST or the default socket of the current user if it is
// empty.
func dial(ctx context.Context, uri string, log zerolog.Logger) (*service, error) {
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
	s := &service{log: log, values: context.WithoutCancel(values)}
	if s.client, err = bindings.GetClient(values); err != nil {
		return nil, err
	}
	if t, ok := s.client.Client.Transport.(*http.Transport); ok {
		t.MaxIdleConnsPerHost = 8
		t.IdleConnTimeout = 30 * time.Second
		s.client.Client.Transport = crash.Requests("podman", t)
	}
	return s, nil
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

// Close closes idle connections. It does not touch containers or runs.
func (s *service) Close() { s.client.Client.CloseIdleConnections() }

// Socket returns the path of podman's socket.
func (s *service) Socket() string { return s.client.URI.Path }

// ImageID returns the ID of a local image, or ErrImageMissing.
func (s *service) ImageID(ctx context.Context, image string) (string, error) {
	report, err := images.GetImage(s.with(ctx), image, nil)
	if err != nil {
		return "", explain(err, "look for image", image)
	}
	return report.ID, nil
}

// inspect inspects a room's container; without its label it is ErrNameTaken.
func (s *service) inspect(ctx context.Context, name, room string) (*define.InspectContainerData, error) {
	data, err := containers.Inspect(s.with(ctx), name, nil)
	if err == nil {
		err = owned(data, room)
	}
	return data, err
}

// halt stops a container, also one that is paused.
func (s *service) halt(ctx context.Context, data *define.InspectContainerData) error {
	if data.State.Status == "paused" {
		if err := containers.Unpause(s.with(ctx), data.ID, nil); err != nil {
			return explain(err, "unpause container", data.Name)
		}
	}
	if !data.State.Running && !data.State.Paused && data.State.Status != "stopping" {
		return nil
	}
	return explain(containers.Stop(s.with(ctx), data.ID, nil), "stop container", data.Name)
}

// remove removes a container but not its volumes. The first attempt may fail on a busy
// mount.
func (s *service) remove(ctx context.Context, id string) error {
	options := new(containers.RemoveOptions).WithForce(true).WithVolumes(false)
	var err error
	for range 3 {
		reports, failed := containers.Remove(s.with(ctx), id, options)
		err = failed
		for _, r := range reports {
			if err == nil && r != nil {
				err = r.Err
			}
		}
		if err == nil {
			return nil
		}
		if !strings.Contains(err.Error(), "busy") {
			break
		}
		if err := retry.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	if err = explain(err, "remove container", id); errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// with returns the caller's context with the bindings' client in it.
func (s *service) with(ctx context.Context) context.Context {
	return callContext{ctx, s.values}
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

// warnOnce logs a warning about something the first time.
func (s *service) warnOnce(about, message string) {
	if _, said := s.warned.LoadOrStore(about, true); !said {
		s.log.Warn().Str("about", about).Msg(message)
	}
}
