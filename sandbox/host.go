package sandbox

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containers/podman/v5/libpod/define"
	"github.com/containers/podman/v5/pkg/bindings/system"
	"golang.org/x/sys/unix"
)

// host is what decides how containers are created.
type host struct {
	rootless    bool
	controllers []string // cgroup controllers that podman can use
}

func (h host) can(controller string) bool { return slices.Contains(h.controllers, controller) }

// limiting are the controllers that limits need: see Spec.resources.
var limiting = []string{"memory", "cpu", "pids"}

// complete reports whether the host can set every limit.
func (h host) complete() bool {
	return !slices.ContainsFunc(limiting, func(controller string) bool { return !h.can(controller) })
}

// about returns what decides how containers are created, and caches the answer. Podman
// runs a package manager several times for its own, which takes 0.1 to 0.2 s of the
// host's processors. So it is asked only if this process cannot tell by itself.
func (p *Podman) about(ctx context.Context) (host, error) {
	unlock, err := p.asking.Lock(ctx, "host")
	if err != nil {
		return host{}, err
	}
	defer unlock()
	if p.host != nil {
		return *p.host, nil
	}
	if h, ok := rootful(ctx, p.Socket(), os.DirFS("/sys/fs/cgroup")); ok {
		p.host = &h
		return h, nil
	}
	info, err := p.info(ctx)
	if err != nil {
		return host{}, err
	}
	h := host{rootless: info.Host.Security.Rootless, controllers: info.Host.CgroupControllers}
	if h.complete() { // otherwise somebody may add what is missing
		p.host = &h
	}
	return h, nil
}

// rootful returns the host of a service that certainly belongs to root and has all
// controllers that limits need; else ok is false. The kernel says which user listens on
// the socket. Another user than root does not prove that the service is rootless, so
// podman is asked then: a rootful service taken for a rootless one would leave root in a
// container without a user range of its own.
func rootful(ctx context.Context, socket string, cgroups fs.FS) (h host, ok bool) {
	peer, err := listenerOf(ctx, socket)
	if err != nil || peer.Uid != 0 {
		return host{}, false
	}
	h.controllers = controllers(cgroups)
	return h, h.complete() // otherwise podman may know better
}

// listenerOf returns the process that listens on a socket, and its user.
func listenerOf(ctx context.Context, socket string) (peer *unix.Ucred, err error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return nil, err
	}
	control := raw.Control(func(fd uintptr) { peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if control != nil || err != nil {
		return nil, fmt.Errorf("read peer of %s: %w", socket, err)
	}
	return peer, nil
}

// controllers lists the controllers of a cgroup file system, version 2 or 1.
func controllers(cgroups fs.FS) []string {
	if list, err := fs.ReadFile(cgroups, "cgroup.controllers"); err == nil {
		return strings.Fields(string(list))
	}
	entries, err := fs.ReadDir(cgroups, ".")
	if err != nil {
		return nil
	}
	var found []string
	for _, e := range entries {
		for _, name := range strings.Split(e.Name(), ",") { // such as cpu,cpuacct
			if _, err := fs.Stat(cgroups, e.Name()+"/cgroup.procs"); err == nil {
				found = append(found, name)
			}
		}
	}
	return found
}

// info asks podman about its host and caches the answer.
func (p *Podman) info(ctx context.Context) (*define.Info, error) {
	unlock, err := p.asking.Lock(ctx, "info")
	if err != nil {
		return nil, err
	}
	defer unlock()
	if p.known != nil {
		return p.known, nil
	}
	info, err := system.Info(p.with(ctx), nil)
	if err != nil {
		return nil, explain(err, "ask", "podman about its host")
	}
	p.known = info
	return info, nil
}

// askAhead finds out about the host in the background, until Close. An error is returned
// to the next caller of about.
func (p *Podman) askAhead() {
	ctx, cancel := context.WithCancel(context.Background())
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		switch h, err := p.about(ctx); {
		case err == nil:
			p.warnAlone(UnderSystemd(), h.rootless)
		case ctx.Err() == nil:
			p.log.Debug().Err(err).Msg("ask podman about its host")
		}
	}()
	p.stopAsking = func() { cancel(); <-asked }
}

// Database returns what podman keeps its containers in, such as "sqlite" or "boltdb", or "" before podman 4.6.
func (p *Podman) Database(ctx context.Context) (string, error) {
	info, err := p.info(ctx)
	if err != nil || info.Host == nil {
		return "", err
	}
	return info.Host.DatabaseBackend, nil
}

// Rootless reports whether podman's service runs without root privileges.
func (p *Podman) Rootless(ctx context.Context) (bool, error) {
	h, err := p.about(ctx)
	return h.rootless, err
}

// Storage returns the folder on the host in which podman keeps images, containers and volumes. A room's volume shows
// where that is, so that podman need not be asked: see about.
func (p *Podman) Storage(ctx context.Context) (string, error) {
	unlock, err := p.asking.Lock(ctx, "storage")
	if err != nil {
		return "", err
	}
	defer unlock()
	if p.storage != "" {
		return p.storage, nil
	}
	if list, err := p.listVolumes(ctx, labelRoom); err == nil && len(list) > 0 {
		all := filepath.Dir(filepath.Dir(list[0].Mountpoint)) // of STORAGE/volumes/NAME/_data
		if filepath.Base(all) == "volumes" {
			p.storage = filepath.Dir(all)
			return p.storage, nil
		}
	}
	info, err := p.info(ctx)
	if err != nil {
		return "", err
	}
	p.storage = info.Store.GraphRoot
	return p.storage, nil
}

// Driver returns podman's storage driver: overlay, vfs or another one, see containers-storage.conf(5).
func (p *Podman) Driver(ctx context.Context) (string, error) {
	info, err := p.info(ctx)
	if err != nil {
		return "", err
	}
	return info.Store.GraphDriverName, nil
}
