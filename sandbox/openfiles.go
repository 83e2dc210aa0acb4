package sandbox

import (
	"strings"

	"golang.org/x/sys/unix"
)

// leastFiles is a limit on open files that every host allows.
const leastFiles = 4096

// OpenFiles returns the limit on open files of a process in a new container: the one that is wanted, but at most this
// process's own hard limit, which podman's service usually has, too; or the least if this host has refused one.
func (p *Podman) OpenFiles(wanted int64) int64 {
	if p.fewFiles.Load() {
		return min(wanted, leastFiles)
	}
	var own unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &own) == nil && own.Max < uint64(wanted) {
		return int64(own.Max)
	}
	return wanted
}

// refusesFiles reports whether a start failed because of the limit on open files. From then on, containers have the
// least.
func (p *Podman) refusesFiles(err error) bool {
	text := strings.ToLower(err.Error())
	if !strings.Contains(text, "rlimit") || !p.fewFiles.CompareAndSwap(false, true) {
		return false
	}
	p.log.Warn().Err(err).Int("limit", leastFiles).
		Msg("this host does not allow the limit on open files (SANDBOX_NOFILE): containers get a lower one")
	return true
}
