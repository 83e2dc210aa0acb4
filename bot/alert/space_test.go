package alert

import (
	"strings"
	"testing"

	"matrix-tui/bot/capacity"
)

// A disk on which no more files can be created is as full as one without bytes. Some file systems have no limit on files.
func TestFewFiles(t *testing.T) {
	for name, c := range map[string]struct {
		least, free uint64
		low, well   bool
	}{
		"large":           {10_000, 9_999, true, false},
		"large, enough":   {10_000, 10_000, false, false},
		"large, plenty":   {10_000, 15_000, false, true},
		"small":           {1_000, 999, true, false},
		"small, enough":   {1_000, 1_500, false, true},
		"nothing is left": {1_000, 0, true, false},
		"btrfs":           {0, 0, false, true},
	} {
		space := capacity.Space{Bytes: 1 << 40, Files: c.free, LeastFiles: c.least}
		got := diskReading(alertState, "x", "/x", space, 1)
		if got.low != c.low || got.well != c.well || got.stops != c.low || c.low != strings.Contains(got.now, "more files") || c.low != strings.HasPrefix(got.mend, "No task starts until then. It needs ") {
			t.Errorf("%s: %+v", name, got)
		}
		if got := diskReading(alertState, "x", "/x", space, 0); got.low != c.low || got.stops || strings.Contains(got.mend, "No task") {
			t.Errorf("%s, no reserve: %+v", name, got)
		}
	}
}
