package sandbox

import "golang.org/x/sys/unix"

// leastFiles is a limit on open files that every host allows.
const leastFiles = 4096

// OpenFiles returns the limit on open files of a process in a new container: the one that is wanted, but at most this
// process's own hard limit, which podman's service usually has, too.
func OpenFiles(wanted int64) int64 {
	var own unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &own) == nil && own.Max < uint64(wanted) {
		return int64(own.Max)
	}
	return wanted
}
