package sandbox

import (
	"context"
	"slices"

	"github.com/containers/podman/v5/pkg/bindings/system"
)

// host is what podman reports about its host.
type host struct {
	rootless    bool
	storage     string   // folder of images, containers and volumes
	driver      string   // storage driver: overlay, vfs, …
	controllers []string // cgroup controllers that podman can use
}

func (h host) can(controller string) bool { return slices.Contains(h.controllers, controller) }

// about returns what podman reports about its host and caches the answer. Podman needs
// about 0.2 s for it, so the bot does not wait for it before the first container is
// created.
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

// askAhead queries the host in the background, until Close. An error is returned to the
// next caller of about.
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

// Rootless reports whether podman's service runs without root privileges.
func (p *Podman) Rootless(ctx context.Context) (bool, error) {
	h, err := p.about(ctx)
	return h.rootless, err
}

// Storage returns the folder on the host in which podman keeps images, containers and volumes.
func (p *Podman) Storage(ctx context.Context) (string, error) {
	h, err := p.about(ctx)
	return h.storage, err
}

// Driver returns podman's storage driver: overlay, vfs or another one, see containers-storage.conf(5).
func (p *Podman) Driver(ctx context.Context) (string, error) {
	h, err := p.about(ctx)
	return h.driver, err
}
