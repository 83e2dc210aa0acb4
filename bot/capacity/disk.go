package capacity

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// mostReserved is how many files it must be possible to create on a large disk.
const mostReserved = 10_000

// Space is what is left on a disk.
type Space struct {
	Bytes  uint64 // that a user may still write
	Files  uint64 // that may still be created
	Device uint64
	// LeastFiles is how many Files a disk needs, or else it counts as full; 0 if its file system has no limit on them.
	LeastFiles uint64
}

// Low reports whether a disk has less than a reserve free, so that no task may start; 0 is no reserve.
func (s Space) Low(reserve uint64) bool {
	return reserve > 0 && (s.Bytes < reserve || s.Files < s.LeastFiles)
}

// FreeSpace returns what is left on the disk of a path. If the path is not accessible, it uses the nearest parent that
// is.
func FreeSpace(path string) (Space, error) {
	var fs unix.Statfs_t
	var st unix.Stat_t
	for {
		err := errors.Join(unix.Statfs(path, &fs), unix.Stat(path, &st))
		if err == nil {
			return spaceOf(fs, st.Dev), nil
		}
		if parent := filepath.Dir(path); errors.Is(err, unix.EACCES) && parent != path {
			path = parent
			continue
		}
		return Space{}, fmt.Errorf("check the disk of %s: %w", path, err)
	}
}

// spaceOf leaves out the files if the file system does not count them, as btrfs does not.
func spaceOf(fs unix.Statfs_t, device uint64) Space {
	s := Space{Bytes: fs.Bavail * uint64(fs.Bsize), Device: device}
	if fs.Files > 0 {
		s.Files, s.LeastFiles = fs.Ffree, min(mostReserved, fs.Files/20)
	}
	return s
}
