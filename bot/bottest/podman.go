package bottest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// podmanService is a script's own API service on a socket of its own. The
// containers outlive it, as they do on a real host.
type podmanService struct {
	socket, log string
	proc        *process
}

func (s *podmanService) uri() string { return "unix://" + s.socket }

// start runs the service and returns when its socket takes connections.
func (s *podmanService) start(ctx context.Context) error {
	if s.proc.alive() {
		return nil
	}
	_ = os.Remove(s.socket)
	proc, err := launch(filepath.Dir(s.socket), s.log, localPodman(),
		"podman", "system", "service", "--time=0", s.uri())
	if err != nil {
		return err
	}
	s.proc = proc
	err = poll(ctx, func() (bool, error) {
		if !proc.alive() {
			return false, fmt.Errorf("podman service ended: %w", proc.err)
		}
		conn, err := net.Dial("unix", s.socket)
		if err != nil {
			return false, nil
		}
		conn.Close()
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("start podman service: %w\n%s", err, tail(s.log, 2000))
	}
	return nil
}

// stop kills the service; connections break in the middle.
func (s *podmanService) stop(ctx context.Context) error {
	if s.proc == nil {
		return nil
	}
	return s.proc.signal(ctx, syscall.SIGKILL)
}

// localPodman is the environment in which podman's command line works itself:
// with CONTAINER_HOST it would be a client of that service, and could be none.
func localPodman() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "CONTAINER_HOST=") })
}

// podman runs the command line tool. A non-zero exit is told by code, not by err.
func podman(ctx context.Context, argv ...string) (stdout, stderr string, code int, err error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, "podman", argv...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Env = localPodman()
	err = cmd.Run()
	if cmd.ProcessState != nil && cmd.ProcessState.Exited() {
		err = nil
		code = cmd.ProcessState.ExitCode()
	}
	return out.String(), errs.String(), code, err
}

// mustPodman is podman for what has to work.
func mustPodman(ctx context.Context, argv ...string) (string, error) {
	stdout, stderr, code, err := podman(ctx, argv...)
	if err != nil {
		return "", fmt.Errorf("podman %s: %w", argv[0], err)
	}
	if code != 0 {
		return "", fmt.Errorf("podman %s: exit %d: %s", argv[0], code, strings.TrimSpace(stderr))
	}
	return stdout, nil
}

// boxVolumes are the volumes that belong to a container name of ours.
func boxVolumes(name string) []string {
	slug := strings.TrimPrefix(name, "sandbox-")
	return []string{"workspace-" + slug, "home-" + slug}
}

// RemoveBoxes removes containers and their volumes, those that exist of them.
func RemoveBoxes(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	// the mounts of a container that just ended may be busy for a moment
	var last error
	err := poll(ctx, func() (bool, error) {
		_, last = mustPodman(ctx, append([]string{"rm", "--force", "--ignore", "--time", "0", "--volumes"}, names...)...)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("remove boxes: %w: %w", err, last)
	}
	var volumes []string
	for _, name := range names {
		volumes = append(volumes, boxVolumes(name)...)
	}
	err = poll(ctx, func() (bool, error) {
		have, err := mustPodman(ctx, "volume", "ls", "--quiet")
		if err != nil { // podman's list fails on a volume that goes while it reads, as other scripts end
			last = err
			return false, nil
		}
		there := strings.Fields(have)
		left := slices.DeleteFunc(slices.Clone(volumes), func(v string) bool { return !slices.Contains(there, v) })
		if len(left) == 0 {
			return true, nil
		}
		_, last = mustPodman(ctx, append([]string{"volume", "rm", "--force"}, left...)...)
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("remove volumes: %w: %w", err, last)
	}
	return nil
}
