package bottest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"matrix-tui/bot/bottest/host"
	"matrix-tui/sandbox"
)

// machine is a bare host with systemd on which a script installs the bot: a container whose PID 1 is systemd, or a qemu
// machine.
type machine struct {
	name       string
	dir        string              // on the test's host; the machine sees the same files
	enter      []string            // what runs a command in it
	home       string              // the bot's, in the machine
	near       string              // the machine's name for the host on which the test runs
	containers *host.PodmanService // the podman service for the bot's containers; nil for the machine's own
	argv       []string            // qemu's, nil for a container
	proc       *host.Process       // qemu
	shop       *http.Server        // the origin of its clone; nil without one
}

// machines is the folder for files that both sides see: not below /tmp, which the unit hides from the bot, and short,
// because it contains sockets.
const machines = "/srv/matrix-tui-test"

// newMachine creates a machine and returns when its systemd is up: a container that has a release in /opt/matrix-tui,
// or with "clone" a clone; or "qemu" with the name of a Debian.
func (sc *script) newMachine(ctx context.Context, kind []string) (*machine, error) {
	release, err := sc.suite.release("base")
	if err != nil {
		return nil, err
	}
	m := &machine{name: fmt.Sprintf("mtm-%d-%s", os.Getpid(), filepath.Base(sc.dir))}
	m.dir = filepath.Join(machines, m.name)
	if err := os.MkdirAll(m.dir, 0o755); err != nil {
		return nil, fmt.Errorf("create folder of the machine: %w", err)
	}
	sc.machine = m
	if len(kind) > 0 && kind[0] == "qemu" {
		return m, m.boot(ctx, sc.suite, release, kind[1:])
	}
	clone := len(kind) > 0 && kind[0] == "clone"
	if clone {
		if release, err = m.clone(ctx, sc.suite); err != nil {
			return nil, err
		}
	}
	m.home, m.near, m.enter = filepath.Join(m.dir, "home"), "127.0.0.1", []string{"podman", "exec", m.name}
	m.containers = &host.PodmanService{Socket: filepath.Join(m.dir, "podman.sock"),
		Log: filepath.Join(sc.dir, "machine-podman.log"), Runtime: sc.suite.runtimePath()}
	if err := m.containers.Start(ctx); err != nil {
		return nil, err
	}
	if err := os.Chmod(m.containers.Socket, 0o666); err != nil {
		return nil, err
	}
	argv := []string{"run", "--detach", "--name", m.name, "--privileged", "--systemd=always", "--network=host",
		"--env=container=podman", "--env=GOPROXY", "--env=GOSUMDB", "--volume=" + m.dir + ":" + m.dir,
		"--volume=" + release + ":/opt/matrix-tui:ro", "--volume=" + host.DendriteFolder() + ":/opt/dendrite:ro"}
	if sc.suite.runtime == sandbox.GVisor {
		runsc, err := exec.LookPath("runsc")
		if err != nil {
			return nil, fmt.Errorf("look for gVisor: %w", err)
		}
		argv = append(argv, "--volume="+runsc+":/usr/local/bin/runsc:ro")
	}
	argv = append(argv, machineImage, "/bin/sh", "-c",
		"mount --make-rshared / && exec /sbin/init") // systemd passes credentials by mounts; a container makes mounts private
	if _, err = host.MustPodman(ctx, argv...); err != nil {
		return nil, err
	}
	if err := m.up(ctx); err != nil || !clone {
		return m, err
	}
	return m, m.trust(ctx)
}

// machineImage is built by deploy/vps.
const machineImage = "localhost/matrix-tui-vps:latest"

// up waits until systemd has started everything.
func (m *machine) up(ctx context.Context) error {
	var last string
	err := host.Poll(ctx, func() (bool, error) {
		if m.proc != nil && !m.proc.Alive() {
			return false, fmt.Errorf("the machine ended: %w\n%s", m.proc.Err, host.Tail(m.proc.Log, 4000))
		}
		out, errs, _, err := m.run(ctx, nil, "systemctl", "is-system-running")
		last = strings.TrimSpace(out + errs)
		return last == "running" || last == "degraded", err
	})
	if err != nil {
		return fmt.Errorf("wait for the machine, which is %q: %w", last, err)
	}
	return nil
}

// run runs a command in the machine as root. A non-zero exit is in code.
func (m *machine) run(ctx context.Context, stdin []byte, argv ...string) (stdout, stderr string, code int, err error) {
	enter := slices.Clone(m.enter)
	if stdin != nil && enter[0] == "podman" {
		enter = slices.Insert(enter, 2, "--interactive")
	}
	if enter[0] == "ssh" {
		argv = []string{quoted(argv)}
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, enter[0], append(enter[1:], argv...)...)
	cmd.Env, cmd.WaitDelay = host.LocalPodman(), host.Straggling
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &out, &errs
	err = cmd.Run()
	if cmd.ProcessState != nil && cmd.ProcessState.Exited() {
		err, code = nil, cmd.ProcessState.ExitCode()
	}
	return out.String(), errs.String(), code, err
}

// quoted is a command line for a shell.
func quoted(argv []string) string {
	var words []string
	for _, a := range argv {
		words = append(words, "'"+strings.ReplaceAll(a, "'", `'\''`)+"'")
	}
	return strings.Join(words, " ")
}

// answers is the answers file for deploy/install, with the settings that a script's bot otherwise gets by its
// environment.
func (sc *script) answers() []byte {
	var text strings.Builder
	for _, pair := range sc.environment() {
		name, value, _ := strings.Cut(pair, "=")
		switch name {
		case "PATH", "HOME", "TMPDIR", "STATE_DIR", "GORACE", "CONTAINER_HOST", "SANDBOX_IMAGE":
			continue
		}
		fmt.Fprintf(&text, "%s=%s\n", name, strings.ReplaceAll(value, "//127.0.0.1:", "//"+sc.machine.near+":"))
	}
	own := map[string]string{"IMAGE_ARCHIVE": "/opt/matrix-tui-image.tar"}
	if sc.suite.image != defaultImage { // the installer keeps another one up to date only if it is the default
		own["SANDBOX_IMAGE"] = sc.suite.image
	}
	if sc.machine.containers != nil {
		own = map[string]string{"MATRIX_TUI_HOME": sc.machine.home, "CONTAINER_HOST": sc.machine.containers.URI(),
			"SANDBOX_IMAGE": cmp.Or(sc.bot.set["SANDBOX_IMAGE"], sc.suite.image)}
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		fmt.Fprintf(&text, "%s=%s\n", name, own[name])
	}
	return []byte(text.String())
}

// keepLog copies the bot's log to where the script looks for it.
func (m *machine) keepLog(ctx context.Context, log string) {
	if m == nil {
		return
	}
	if out, _, code, err := m.run(ctx, nil, "journalctl", "--unit=matrix-tui", "--output=cat", "--no-pager"); err == nil &&
		code == 0 {
		_ = os.WriteFile(log, []byte(out), 0o600) // without it the script's report is shorter
	}
}

// end shuts the machine down for good.
func (m *machine) end(ctx context.Context) (err error) {
	if m == nil {
		return nil
	}
	if m.proc != nil {
		err = errors.Join(err, m.proc.Signal(ctx, syscall.SIGKILL))
	} else {
		_, rm := host.MustPodman(ctx, "rm", "--force", "--ignore", "--time", "0", "--volumes", m.name)
		err = errors.Join(err, rm, m.containers.Stop(ctx))
	}
	if m.shop != nil {
		err = errors.Join(err, m.shop.Close())
	}
	if os.Getenv("MATRIX_TUI_KEEP") != "" {
		return err
	}
	return errors.Join(err, os.RemoveAll(m.dir))
}

// sweepMachines removes what a killed run has left behind.
func sweepMachines(ctx context.Context) {
	dirs, _ := filepath.Glob(filepath.Join(machines, "mtm-*"))
	for _, dir := range dirs {
		var pid int
		if _, err := fmt.Sscanf(filepath.Base(dir), "mtm-%d-", &pid); err != nil || syscall.Kill(pid, 0) == nil {
			continue
		}
		_, _, _, _ = host.Podman(ctx, "rm", "--force", "--ignore", "--time", "0", "--volumes", filepath.Base(dir))
		_ = os.RemoveAll(dir)
	}
}
