package capacity

import (
	"testing"

	"golang.org/x/sys/unix"
)

// A disk on which no more files can be created is as full as one without bytes. Some file systems have no limit on files.
func TestFewFiles(t *testing.T) {
	for name, c := range map[string]struct {
		files, free uint64
		low         bool
	}{
		"large":           {10_000_000, 9_999, true},
		"large, enough":   {10_000_000, 10_000, false},
		"large, plenty":   {10_000_000, 15_000, false},
		"small":           {20_000, 999, true},
		"small, enough":   {20_000, 1_500, false},
		"nothing is left": {20_000, 0, true},
		"btrfs":           {0, 0, false},
	} {
		space := spaceOf(unix.Statfs_t{Bavail: 1 << 40, Bsize: 1, Files: c.files, Ffree: c.free}, 1)
		if space.Low(1) != c.low || space.Low(0) {
			t.Errorf("%s: %+v, low: %v", name, space, space.Low(1))
		}
	}
	if space, err := FreeSpace(t.TempDir()); err != nil || space.Bytes == 0 || space.Device == 0 {
		t.Errorf("%+v, %v", space, err)
	}
}
