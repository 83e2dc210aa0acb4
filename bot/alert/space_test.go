package alert

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A disk on which no more files can be created is as full as one without bytes. Some file systems have no limit on files.
func TestFewFiles(t *testing.T) {
	for name, c := range map[string]struct {
		files, free uint64
		low, well   bool
	}{
		"large":           {10_000_000, 9_999, true, false},
		"large, enough":   {10_000_000, 10_000, false, false},
		"large, plenty":   {10_000_000, 15_000, false, true},
		"small":           {20_000, 999, true, false},
		"small, enough":   {20_000, 1_500, false, true},
		"nothing is left": {20_000, 0, true, false},
		"btrfs":           {0, 0, false, true},
	} {
		space := spaceOf(unix.Statfs_t{Bavail: 1 << 40, Bsize: 1, Files: c.files, Ffree: c.free}, 1)
		if space.Low(1) != c.low || space.Low(0) {
			t.Errorf("%s: %+v, low: %v", name, space, space.Low(1))
		}
		got := diskReading(alertState, "x", "/x", space, 1)
		if got.low != c.low || got.well != c.well || got.stops != c.low || c.low != strings.Contains(got.now, "more files") || c.low != strings.HasPrefix(got.mend, "No task starts until then. It needs ") {
			t.Errorf("%s: %+v", name, got)
		}
		if got := diskReading(alertState, "x", "/x", space, 0); got.low != c.low || got.stops || strings.Contains(got.mend, "No task") {
			t.Errorf("%s, no reserve: %+v", name, got)
		}
	}
	if space, err := FreeSpace(t.TempDir()); err != nil || space.Bytes == 0 || space.Device == 0 {
		t.Errorf("%+v, %v", space, err)
	}
}
