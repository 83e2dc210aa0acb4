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
	"time"
)

// PodmanService is a script's own API service on its own socket. Containers outlive it, as on a real host.
type PodmanService struct {
	Socket, Log string
	Runtime     string // name or path; "" = podman's own
	proc        *Process
}

func (s *PodmanService) URI() string { return "unix://" + s.Socket }

// Start runs the service and returns when its socket accepts connections.
func (s *PodmanService) Start(ctx context.Context) error {
	if s.proc.Alive() {
		return nil
	}
	_ = os.Remove(s.Socket)
	argv := []string{"podman", "system", "service", "--time=0", s.URI()}
	if s.Runtime != "" {
		argv = slices.Insert(argv, 1, "--runtime", s.Runtime)
	}
	proc, err := Launch(filepath.Dir(s.Socket), s.Log, LocalPodman(), argv...)
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

// Stop kills the service; connections break.
func (s *PodmanService) Stop(ctx context.Context) error {
	if s.proc == nil {
		return nil
	}
	return s.proc.Signal(ctx, syscall.SIGKILL)
}

// LocalPodman is an environment in which podman's command line works by itself: with CONTAINER_HOST it would be a
// client of that service.
func LocalPodman() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "CONTAINER_HOST=") })
}

// Straggling is how long the output of a killed command may stay open: by what it has started, for example.
const Straggling = 10 * time.Second

// Podman runs podman's command line. A non-zero exit is in code, not in err.
func Podman(ctx context.Context, argv ...string) (stdout, stderr string, code int, err error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, "podman", argv...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Env, cmd.WaitDelay = LocalPodman(), Straggling
	err = cmd.Run()
	if cmd.ProcessState != nil && cmd.ProcessState.Exited() {
		err = nil
		code = cmd.ProcessState.ExitCode()
	}
	return out.String(), errs.String(), code, err
}

// MustPodman is Podman for commands that must succeed.
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

// Volumes returns the volumes that belong to the name of one of our containers.
func Volumes(name string) []string {
	slug := strings.TrimPrefix(name, "sandbox-")
	return []string{"workspace-" + slug, "home-" + slug}
}

// RemoveContainers removes the existing ones of these containers and their volumes.
func RemoveContainers(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	// the mounts of a container that just ended may be busy for a moment
	var last error
	err := Poll(ctx, func() (bool, error) {
		trying, cancel := context.WithTimeout(ctx, removeTime)
		defer cancel()
		_, last = MustPodman(trying, append([]string{"rm", "--force", "--ignore", "--time", "0", "--volumes"}, names...)...)
		if trying.Err() != nil {
			last = fmt.Errorf("%w; in the kernel:\n%s", last, stuck())
			return false, last
		}
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("remove containers: %w: %w", err, last)
	}
	killMonitors(names)
	var volumes []string
	for _, name := range names {
		volumes = append(volumes, Volumes(name)...)
	}
	err = Poll(ctx, func() (bool, error) { // --force: a volume that does not exist is no error
		_, last = MustPodman(ctx, append([]string{"volume", "rm", "--force"}, volumes...)...)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("remove volumes: %w: %w", err, last)
	}
	return nil
}

// removeTime is what podman may take to remove a script's containers, which takes a second.
const removeTime = 2 * time.Minute

// stuck lists podman's processes and the runtime's, each with the function of the kernel in which it waits.
func stuck() string {
	var lines []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		argv := strings.Split(string(text), "\x00")
		switch filepath.Base(argv[0]) {
		case "podman", "runc", "crun":
			in, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "wchan"))
			lines = append(lines, fmt.Sprintf("%s %.150q in %s", filepath.Base(filepath.Dir(file)), argv, in))
		}
	}
	return strings.Join(lines, "\n")
}

// killMonitors kills the conmon processes of commands that were executed in containers that no longer exist. Half a
// minute later each would start podman to clean up; in a full run that is thousands of processes.
func killMonitors(names []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		argv := strings.Split(string(text), "\x00")
		if i := slices.Index(argv, "-n"); filepath.Base(argv[0]) != "conmon" || i < 0 || i+1 == len(argv) ||
			!slices.Contains(names, argv[i+1]) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
