package sandbox

import (
	"context"
	"slices"

	"github.com/containers/podman/v5/pkg/bindings/system"
)

// host is what matters of the machine that podman runs on.
type host struct {
	rootless    bool
	storage     string   // folder of images, containers and volumes
	driver      string   // how it keeps them: overlay, vfs, …
	controllers []string // cgroup controllers that podman can use
}

func (h host) can(controller string) bool { return slices.Contains(h.controllers, controller) }

// about returns what podman says about its host. The first answer is kept. It takes
// podman a fifth of a second, much of it to ask the package manager about its
// parts, so nobody waits for it before the first container is made.
func (p *Podman) about(ctx context.Context) (host, error) {
	unlock, err := p.asking.lock(ctx, "")
	if err != nil {
		return host{}, err
	}
	defer unlock()
	if p.host != nil {
		return *p.host, nil
	}
	info, err := system.Info(p.with(ctx), nil)
	if err != nil {
		return host{}, explain(err, "ask", "podman about its host")
	}
	p.host = &host{rootless: info.Host.Security.Rootless, storage: info.Store.GraphRoot, driver: info.Store.GraphDriverName, controllers: info.Host.CgroupControllers}
	return *p.host, nil
}

// askAhead asks in the background, until Close. What goes wrong is told to whoever
// asks next.
func (p *Podman) askAhead() {
	ctx, cancel := context.WithCancel(context.Background())
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		if _, err := p.about(ctx); err != nil && ctx.Err() == nil {
			p.log.Debug().Err(err).Msg("ask podman about its host")
		}
	}()
	p.stopAsking = func() { cancel(); <-asked }
}

// Rootless says whether podman's service runs without root's rights.
func (p *Podman) Rootless(ctx context.Context) (bool, error) {
	h, err := p.about(ctx)
	return h.rootless, err
}

// Storage is the folder on the host where podman keeps images, containers and
// volumes.
func (p *Podman) Storage(ctx context.Context) (string, error) {
	h, err := p.about(ctx)
	return h.storage, err
}

// Driver is how podman keeps images and containers there: overlay, vfs and
// others, see containers-storage.conf(5).
func (p *Podman) Driver(ctx context.Context) (string, error) {
	h, err := p.about(ctx)
	return h.driver, err
}
