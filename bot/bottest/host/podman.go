package host

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// PodmanService is a script's own API service on a socket of its own. The
// containers outlive it, as they do on a real host.
type PodmanService struct {
	Socket, Log string
	proc        *Process
}

func (s *PodmanService) URI() string { return "unix://" + s.Socket }

// Start runs the service and returns when its socket takes connections.
func (s *PodmanService) Start(ctx context.Context) error {
	if s.proc.Alive() {
		return nil
	}
	_ = os.Remove(s.Socket)
	proc, err := Launch(filepath.Dir(s.Socket), s.Log, LocalPodman(),
		"podman", "system", "service", "--time=0", s.URI())
	if err != nil {
		return err
	}
	s.proc = proc
	err = Poll(ctx, func() (bool, error) {
		if !proc.Alive() {
			return false, fmt.Errorf("podman service ended: %w", proc.Err)
		}
		conn, err := net.Dial("unix", s.Socket)
		if err != nil {
			return false, nil
		}
		conn.Close()
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("start podman service: %w\n%s", err, Tail(s.Log, 2000))
	}
	return nil
}

// Stop kills the service; connections break in the middle.
func (s *PodmanService) Stop(ctx context.Context) error {
	if s.proc == nil {
		return nil
	}
	return s.proc.Signal(ctx, syscall.SIGKILL)
}

// LocalPodman is the environment in which podman's command line works itself:
// with CONTAINER_HOST it would be a client of that service, and could be none.
func LocalPodman() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "CONTAINER_HOST=") })
}

// Podman runs the command line tool. A non-zero exit is told by code, not by err.
func Podman(ctx context.Context, argv ...string) (stdout, stderr string, code int, err error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, "podman", argv...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Env = LocalPodman()
	err = cmd.Run()
	if cmd.ProcessState != nil && cmd.ProcessState.Exited() {
		err = nil
		code = cmd.ProcessState.ExitCode()
	}
	return out.String(), errs.String(), code, err
}

// MustPodman is podman for what has to work.
func MustPodman(ctx context.Context, argv ...string) (string, error) {
	stdout, stderr, code, err := Podman(ctx, argv...)
	if err != nil {
		return "", fmt.Errorf("podman %s: %w", argv[0], err)
	}
	if code != 0 {
		return "", fmt.Errorf("podman %s: exit %d: %s", argv[0], code, strings.TrimSpace(stderr))
	}
	return stdout, nil
}

// Volumes are the volumes that belong to a container name of ours.
func Volumes(name string) []string {
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
	err := Poll(ctx, func() (bool, error) {
		_, last = MustPodman(ctx, append([]string{"rm", "--force", "--ignore", "--time", "0", "--volumes"}, names...)...)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("remove boxes: %w: %w", err, last)
	}
	killMonitors(names)
	var volumes []string
	for _, name := range names {
		volumes = append(volumes, Volumes(name)...)
	}
	err = Poll(ctx, func() (bool, error) {
		have, err := MustPodman(ctx, "volume", "ls", "--quiet")
		if err != nil { // podman's list fails on a volume that goes while it reads, as other scripts end
			last = err
			return false, nil
		}
		there := strings.Fields(have)
		left := slices.DeleteFunc(slices.Clone(volumes), func(v string) bool { return !slices.Contains(there, v) })
		if len(left) == 0 {
			return true, nil
		}
		_, last = MustPodman(ctx, append([]string{"volume", "rm", "--force"}, left...)...)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("remove volumes: %w: %w", err, last)
	}
	return nil
}

// killMonitors ends conmon for each command that was executed in containers that
// are gone. Each would still start a podman, half a minute later, to clean up
// after its command; with those of some hundred containers that takes a tenth of
// the time of a run.
func killMonitors(names []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		argv := strings.Split(string(text), "\x00")
		if i := slices.Index(argv, "-n"); filepath.Base(argv[0]) != "conmon" || i < 0 || i+1 == len(argv) || !slices.Contains(names, argv[i+1]) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
