package sandbox

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/containers/podman/v5/libpod/define"
	"github.com/containers/podman/v5/pkg/bindings/system"
)

// host is what decides how containers are created.
type host struct {
	rootless    bool
	systemd     bool     // manages the control groups of containers
	controllers []string // cgroup controllers that podman can use
}

func (h host) can(controller string) bool { return slices.Contains(h.controllers, controller) }

// info asks podman about its host and keeps the answer: podman runs a package manager several times for its own.
func (s *service) info(ctx context.Context) (*define.Info, error) {
	unlock, err := s.asking.Lock(ctx, "info")
	if err != nil {
		return nil, err
	}
	defer unlock()
	if s.known != nil {
		return s.known, nil
	}
	info, err := system.Info(s.with(ctx), nil)
	if err != nil {
		return nil, explain(err, "ask", "podman about its host")
	}
	s.known = info
	return info, nil
}

func (s *service) about(ctx context.Context) (host, error) {
	info, err := s.info(ctx)
	if err != nil {
		return host{}, err
	}
	return host{
		rootless: info.Host.Security.Rootless, systemd: info.Host.CgroupManager == "systemd",
		controllers: info.Host.CgroupControllers,
	}, nil
}

// Version returns the version of podman's service, such as "4.3.1".
func (s *service) Version(ctx context.Context) (string, error) {
	report, err := system.Version(s.with(ctx), nil)
	if err != nil {
		return "", explain(err, "ask", "podman's version")
	}
	return report.Server.Version, nil
}

// Rootless reports whether podman's service runs without root privileges.
func (s *service) Rootless(ctx context.Context) (bool, error) {
	h, err := s.about(ctx)
	return h.rootless, err
}

// Storage returns the folder on the host in which podman keeps images, containers and volumes.
func (s *service) Storage(ctx context.Context) (string, error) {
	info, err := s.info(ctx)
	if err != nil {
		return "", err
	}
	return info.Store.GraphRoot, nil
}

// Stores returns podman's storage driver (overlay, vfs or another one, see containers-storage.conf(5)) and what podman
// keeps its containers in, such as "sqlite" or "boltdb", or "" before podman 4.6.
func (s *service) Stores(ctx context.Context) (driver, database string, err error) {
	info, err := s.info(ctx)
	if err != nil {
		return "", "", err
	}
	return info.Store.GraphDriverName, info.Host.DatabaseBackend, nil
}

// Runtime returns the name and path of the runtime under which podman's service starts containers. It returns an error
// if the runtime cannot be executed.
func (s *service) Runtime(ctx context.Context) (name, path string, err error) {
	info, err := s.info(ctx)
	if err != nil {
		return "", "", err
	}
	if info.Host.OCIRuntime == nil {
		return "", "", errors.New("podman cannot execute its runtime")
	}
	path = info.Host.OCIRuntime.Path
	return filepath.Base(path), path, nil
}
