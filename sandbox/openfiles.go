package sandbox

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// leastFiles is a limit on open files that every host allows.
const leastFiles = 4096

// OpenFiles returns the limit on open files of a process in a new container: the one that is wanted, or the highest that
// podman's service has to give.
func (p *Podman) OpenFiles(ctx context.Context, wanted int64) int64 {
	if p.fewFiles.Load() {
		return min(wanted, leastFiles)
	}
	if most := filesOf(ctx, p.Socket()); most > 0 {
		wanted = min(wanted, most)
	}
	return wanted
}

// filesOf returns the hard limit on open files of the process that listens on a socket, 0 = unknown.
func filesOf(ctx context.Context, socket string) int64 {
	peer, err := listenerOf(ctx, socket)
	if err != nil || peer.Pid <= 0 {
		return 0
	}
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", peer.Pid))
	if err != nil {
		return 0
	}
	return filesIn(string(data))
}

// filesIn reads /proc/PID/limits.
func filesIn(limits string) int64 {
	for line := range strings.Lines(limits) {
		if rest, ok := strings.CutPrefix(line, "Max open files"); ok {
			if fields := strings.Fields(rest); len(fields) > 1 {
				most, _ := strconv.ParseInt(fields[1], 10, 64) // 0 if it is "unlimited"
				return most
			}
		}
	}
	return 0
}

// refusesFiles reports whether a start failed because of the limit on open files. From then on, containers have the least.
func (p *Podman) refusesFiles(err error) bool {
	text := strings.ToLower(err.Error())
	if !strings.Contains(text, "rlimit") || !p.fewFiles.CompareAndSwap(false, true) {
		return false
	}
	p.log.Warn().Err(err).Int("limit", leastFiles).Msg("this host does not allow the limit on open files (SANDBOX_NOFILE): containers get a lower one")
	return true
}
