package kube

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/rs/zerolog"

	"matrix-tui/sandbox"
	"matrix-tui/state/sentence"
)

// Config says where rooms' pods run, and how.
type Config struct {
	Kubeconfig string // the path of a file, "" = as for kubectl, or else that the bot runs in a pod
	Namespace  string // "" = that of the bot's pod, or of the file's context
	Door       string // "IP:port", at which pods reach the bot's door
	DoorCert   []byte // the door's certificate, in PEM
	Trap       string // "address:port" to listen on, where no room's pod may reach the bot; "" = any port

	StorageClass   string // of volumes, "" = the cluster's default
	Storage        string // the size of each volume, such as "10Gi"
	Seccomp        string // a profile on each node, below kubelet's folder for them, "" = the runtime's default
	RuntimeClass   string // "" = the cluster's default, for specs without a runtime
	PullSecret     string // for the image's registry, "" = none
	UserNamespaces bool   // the cluster has them
}

// Cluster is the [sandbox.Engine] that runs sandboxes on Kubernetes. It is safe for concurrent use.
type Cluster struct {
	pods
	volumes
	Copies *Copies // nil: volumes are not copied

	server *api
	cfg    Config
	log    zerolog.Logger
	trap   *trap // nil: this process creates no pods
}

var _ sandbox.Engine = (*Cluster)(nil)

// Connect finds the cluster, and checks that it has agent-sandbox. It returns ErrUnreachable if the API server does not
// answer.
func Connect(ctx context.Context, cfg Config, log zerolog.Logger) (*Cluster, error) {
	a, err := open(cfg.Kubeconfig, cfg.Namespace)
	if err != nil {
		return nil, err
	}
	c := &Cluster{pods: pods{a}, volumes: volumes{a, cfg.StorageClass, cfg.Storage}, server: a, cfg: cfg, log: log}
	if err := a.call(ctx, http.MethodGet, "/apis/"+version, nil, nil); errors.Is(err, sandbox.ErrNotFound) {
		return nil, errNoSandboxes
	} else if err != nil {
		return nil, fmt.Errorf("look for %s: %w", version, err)
	}
	if cfg.DoorCert != nil {
		if c.trap, err = openTrap(ctx, cmp.Or(cfg.Trap, ":0")); err != nil {
			return nil, err
		}
	}
	log.Info().Str("server", a.base.Host).Str("namespace", a.namespace).Msg("rooms' sandboxes run on Kubernetes")
	return c, nil
}

var errNoSandboxes = sentence.New(errors.New("the cluster has no "+version),
	"The cluster does not know the kind Sandbox. The operator can install agent-sandbox: see deploy/README.md.")

// sandboxes is the path of all sandboxes, or of one.
func (c *Cluster) sandboxes(name string) string {
	return c.server.in("/apis/"+version, "sandboxes", name)
}

// get reads a room's sandbox. One that is another room's is left alone: [sandbox.ErrForeign].
func (c *Cluster) get(ctx context.Context, name, room string) (s sandboxObject, err error) {
	if err := c.server.call(ctx, http.MethodGet, c.sandboxes(name), nil, &s); err != nil {
		return s, fmt.Errorf("read sandbox %s: %w", nameOf(name), err)
	}
	if s.Metadata.room() != room {
		return s, fmt.Errorf("sandbox %s is annotated with room %q: %w", nameOf(name), s.Metadata.room(), sandbox.ErrForeign)
	}
	return s, nil
}

// List returns every sandbox of a room.
func (c *Cluster) List(ctx context.Context) ([]sandbox.Info, error) {
	var infos []sandbox.Info
	err := each(ctx, c.server, c.sandboxes(""), func(s sandboxObject) {
		info := sandbox.Info{ID: s.Metadata.UID, Room: s.Metadata.room(), State: s.state(),
			Name:  cmp.Or(s.Metadata.Annotations[annotationName], s.Metadata.Name),
			Image: s.Metadata.Annotations[annotationImage]}
		if s.Metadata.Created != nil {
			info.Created = *s.Metadata.Created
		}
		if ready, ok := is(s.Status.Conditions, "Ready"); ok {
			info.Started = ready.Since
		}
		infos = append(infos, info)
	})
	if err != nil {
		return nil, fmt.Errorf("list sandboxes: %w", err)
	}
	return infos, nil
}

// maxPages bounds a list, in pages of 500 objects.
const maxPages = 100

// each calls f for each of our objects at a path.
func each[T any](ctx context.Context, a *api, path string, f func(T)) error {
	token := ""
	for range maxPages {
		var page list[T]
		query := url.Values{"labelSelector": {labelOwner + "=" + owner}, "limit": {"500"}}
		if token != "" {
			query.Set("continue", token)
		}
		if err := a.call(ctx, http.MethodGet, path+"?"+query.Encode(), nil, &page); err != nil {
			return err
		}
		for _, item := range page.Items {
			f(item)
		}
		if token = page.Metadata.Continue; token == "" {
			return nil
		}
	}
	return fmt.Errorf("%w: its list does not end", ErrUnreachable)
}

// Stop suspends the room's sandbox, and waits until its pod has ended. Its volumes stay.
func (c *Cluster) Stop(ctx context.Context, name, room string) error {
	s, err := c.get(ctx, name, room)
	if err == nil && s.Spec.OperatingMode != suspended {
		err = c.set(ctx, s, suspended)
	}
	if err != nil {
		return err
	}
	p, err := c.pods.of(ctx, s.Metadata.Name)
	if err != nil || p.Metadata.UID == "" || p.lost() {
		return err
	}
	return c.ended(ctx, s, c.server.in("/api/v1", "pods", s.Metadata.Name), p.Metadata.UID)
}

// set changes a sandbox's operating mode, unless it was replaced meanwhile.
func (c *Cluster) set(ctx context.Context, s sandboxObject, mode string) error {
	change := object{"metadata": object{"uid": s.Metadata.UID}, "spec": object{"operatingMode": mode}}
	if err := c.server.call(ctx, http.MethodPatch, c.sandboxes(s.Metadata.Name), change, nil); err != nil {
		return fmt.Errorf("set operating mode of sandbox %s: %w", s.Metadata.Name, err)
	}
	return nil
}

// Remove removes the room's sandbox and, if volumesOf is not "", the volumes of that room, for good.
func (c *Cluster) Remove(ctx context.Context, name, room, volumesOf string) error {
	s, err := c.get(ctx, name, room)
	if whole := sandbox.WholeName(room); name != whole && sandbox.IsGone(err) {
		return c.Remove(ctx, whole, room, volumesOf)
	}
	switch {
	case err == nil:
		err = c.delete(ctx, s)
	case errors.Is(err, sandbox.ErrNotFound):
		err = nil
	}
	if err != nil || volumesOf == "" {
		return err
	}
	return c.removeAll(ctx, volumesOf)
}

// delete deletes a sandbox and waits until its pod has ended, too.
func (c *Cluster) delete(ctx context.Context, s sandboxObject) error {
	err := c.end(ctx, s)
	if err == nil {
		err = c.ended(ctx, s, c.sandboxes(s.Metadata.Name), s.Metadata.UID)
	}
	return err
}

// ended waits until a sandbox, or its pod, is gone.
func (c *Cluster) ended(ctx context.Context, s sandboxObject, path, uid string) error {
	err := c.server.gone(ctx, path, uid)
	if errors.Is(err, errEnding) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime) // its time may be over
		defer cancel()
		if p, failed := c.pods.of(ctx, s.Metadata.Name); failed == nil && p.lost() {
			err = errNodeLost
		}
	}
	if err != nil {
		return fmt.Errorf("end pod of sandbox %s: %w", s.Metadata.Name, err)
	}
	return nil
}

// end begins to delete a sandbox: it is gone when its pod has ended.
func (c *Cluster) end(ctx context.Context, s sandboxObject) error {
	options := object{"propagationPolicy": "Foreground", "preconditions": object{"uid": s.Metadata.UID}}
	err := c.server.call(ctx, http.MethodDelete, c.sandboxes(s.Metadata.Name), options, nil)
	if err != nil && !errors.Is(err, sandbox.ErrNotFound) {
		return fmt.Errorf("delete sandbox %s: %w", s.Metadata.Name, err)
	}
	return nil
}

// ImageID returns the name: the cluster resolves it. A new image needs another name, or a digest.
func (c *Cluster) ImageID(_ context.Context, image string) (string, error) { return image, nil }

// Packages returns none: what was installed in a pod ended with it.
func (c *Cluster) Packages(context.Context, string, string) ([]string, error) { return nil, nil }

// Storage is not on this host.
func (c *Cluster) Storage(context.Context) (string, error) { return "", errElsewhere }

var errElsewhere = errors.New("the sandboxes' storage is in the cluster")

// Rootless is false: the cluster limits how many pods run.
func (c *Cluster) Rootless(context.Context) (bool, error) { return false, nil }

// Door returns the door for the pods of this cluster: see [NewDoor].
func (c *Cluster) Door(certificate tls.Certificate,
	join func(ctx context.Context, room string) (net.Conn, error)) *Door {
	return NewDoor(c.server, certificate, audience, join, c.log)
}

// Close closes idle connections.
func (c *Cluster) Close() {
	c.trap.close()
	c.server.http.CloseIdleConnections()
}
