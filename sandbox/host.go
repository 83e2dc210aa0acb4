package sandbox

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

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

// Database returns what podman keeps its containers in, such as "sqlite" or "boltdb", or "" before podman 4.6.
func (s *service) Database(ctx context.Context) (string, error) {
	info, err := s.info(ctx)
	if err != nil {
		return "", err
	}
	return info.Host.DatabaseBackend, nil
}

// Runtime returns name and path of the runtime under which podman's service starts containers, and what that says about
// its version, such as "crun version 1.14.1". It returns an error if the runtime cannot be executed.
func (s *service) Runtime(ctx context.Context) (name, path, version string, err error) {
	info, err := s.info(ctx)
	if err != nil {
		return "", "", "", err
	}
	runtime := info.Host.OCIRuntime
	if runtime == nil {
		return "", "", "", errors.New("podman cannot execute its runtime")
	}
	version, _, _ = strings.Cut(runtime.Version, "\n")
	return filepath.Base(runtime.Path), runtime.Path, version, nil
}
