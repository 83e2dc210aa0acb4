package bottest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"matrix-tui/bot/bottest/host"
)

// boot starts a machine under qemu: deploy/vps makes its disk and starts it. The machine reaches this host's loopback
// as 10.0.2.2; commands go by ssh. debian is the suite, default Debian 12.
func (m *machine) boot(ctx context.Context, s *suite, release string, debian []string) error {
	port, err := host.FreePort()
	if err != nil {
		return err
	}
	m.home, m.near = "/home/matrix-tui", "10.0.2.2"
	key := filepath.Join(m.dir, "key")
	m.enter = []string{"ssh", "-i", key, "-p", strconv.Itoa(port), "-o", "StrictHostKeyChecking=no", "-o",
		"UserKnownHostsFile=/dev/null",
		"-o", "LogLevel=ERROR", "-o", "ConnectTimeout=20", "-o", "BatchMode=yes", "root@127.0.0.1"}
	m.argv = []string{filepath.Join(s.repo, "deploy", "vps"), "run", m.dir, strconv.Itoa(port)}
	disk, err := host.Launch(m.dir, filepath.Join(m.dir, "disk.Log"), append(host.LocalPodman(), "SANDBOX_IMAGE="+s.image),
		append([]string{filepath.Join(s.repo, "deploy", "vps"), "disk", m.dir, release}, debian...)...)
	if err != nil {
		return err
	}
	select {
	case <-disk.Done:
	case <-ctx.Done():
		_ = disk.Signal(context.WithoutCancel(ctx), syscall.SIGKILL)
	}
	if code, _ := disk.Ended(); code != 0 {
		return fmt.Errorf("create the machine's disk: exit %d\n%s", code, host.Tail(disk.Log, 4000))
	}
	return m.powerOn(ctx)
}

func (m *machine) powerOn(ctx context.Context) error {
	if m.argv == nil {
		if _, err := host.MustPodman(ctx, "start", m.name); err != nil {
			return err
		}
		return m.up(ctx)
	}
	proc, err := host.Launch(m.dir, filepath.Join(m.dir, "console.log"), os.Environ(), m.argv...)
	if err != nil {
		return err
	}
	m.proc = proc
	return m.up(ctx)
}

func (m *machine) powerOff(ctx context.Context) error {
	if m.argv == nil {
		_, err := host.MustPodman(ctx, "kill", "--signal=KILL", m.name)
		return err
	}
	return m.proc.Signal(ctx, syscall.SIGKILL)
}
