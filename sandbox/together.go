package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/containers/podman/v5/pkg/bindings/containers"
	"github.com/containers/podman/v5/pkg/specgen"
)

// All containers are in one control group with limits of its own, so that many rooms together leave the host enough
// memory and processes. Where systemd manages control groups it is a slice, and deploy/units/matrixtui.slice has its
// limits. Where podman manages them itself it is a folder, and a bot that runs as root sets its limits.
const (
	TogetherSlice  = "matrixtui.slice" // a dash in its name would make it part of another slice
	togetherFolder = "/matrix-tui"
)

// togetherIn returns the control group for containers on a host, "" = podman's default: without systemd, a rootless
// podman has no control groups to choose from.
func togetherIn(systemd, rootless bool) string {
	switch {
	case systemd:
		return TogetherSlice
	case rootless:
		return ""
	}
	return togetherFolder
}

// UnderSystemd reports whether this host runs systemd: sd_booted(3).
func UnderSystemd() bool {
	info, err := os.Lstat("/run/systemd/system")
	return err == nil && info.IsDir()
}

// createTogether creates a container in the control group of all.
func (p *Podman) createTogether(ctx context.Context, g *specgen.SpecGenerator) error {
	host, err := p.about(ctx)
	if err != nil {
		return err
	}
	switch g.CgroupParent = togetherIn(host.systemd, host.rootless); g.CgroupParent {
	case "":
		p.warnOnce(TogetherSlice, "rootless podman without systemd has no common control group: what all containers "+
			"together use is not limited")
	case togetherFolder:
		p.together.Do(func() {
			if err := limitTogether("/sys/fs/cgroup"); err != nil {
				p.log.Warn().Err(err).Msg("cannot limit what all containers together use")
			}
		})
	}
	_, err = containers.CreateWithSpec(p.with(ctx), g, nil)
	return err
}

// together is what all containers may use: 85 % of the memory, and half of the processes and threads that the kernel
// has room for. From 75 % on, the kernel slows them down and reclaims memory. The slice has the same limits.
type together struct{ high, max, tasks int64 }

func limitsFor(memory, threads int64) together {
	return together{high: memory / 100 * 75, max: memory / 100 * 85, tasks: threads / 2}
}

// limitTogether creates the control group where podman manages them, with the limits of this host. The kernel has
// version 1 or 2 of control groups; version 1 has no limit that slows down.
func limitTogether(root string) error {
	var memory int64
	data, err := os.ReadFile("/proc/meminfo")
	if _, scan := fmt.Sscanf(string(data), "MemTotal: %d kB", &memory); err != nil || scan != nil {
		return errors.Join(errors.New("read the amount of memory"), err, scan)
	}
	data, err = os.ReadFile("/proc/sys/kernel/threads-max")
	if err != nil {
		return fmt.Errorf("read the limit on threads: %w", err)
	}
	threads, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	if err != nil {
		return fmt.Errorf("read the limit on threads: %w", err)
	}
	return limitsFor(memory<<10, threads).write(root)
}

func (t together) write(root string) error {
	limits := map[string]int64{"memory@/memory.limit_in_bytes": t.max, "pids@/pids.max": t.tasks}
	if list, err := os.ReadFile(filepath.Join(root, "cgroup.controllers")); err == nil {
		limits = map[string]int64{"@/memory.high": t.high, "@/memory.max": t.max, "@/pids.max": t.tasks}
		if !strings.Contains(string(list), "memory") || !strings.Contains(string(list), "pids") {
			return errors.New("the host has no control groups for memory and processes")
		}
		if err := os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+memory +pids"), 0); err != nil {
			return fmt.Errorf("enable control groups for memory and processes: %w", err)
		}
	}
	for file, limit := range limits {
		path := filepath.Join(root, strings.Replace(file, "@", togetherFolder, 1))
		if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("create control group: %w", err)
		}
		if err := os.WriteFile(path, []byte(strconv.FormatInt(limit, 10)), 0o644); err != nil {
			return fmt.Errorf("limit all containers together: %w", err)
		}
	}
	return nil
}
