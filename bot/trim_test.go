package bot

import "testing"

// Memory is given back once after work, and not while it goes on.
func TestTrimmer(t *testing.T) {
	var m trimmer
	for i, c := range []struct {
		allocated uint64
		due       bool
	}{
		{1 << 20, false},                    // the first look
		{1<<20 + 10, false},                 // nothing worth it
		{9 << 20, false}, {20 << 20, false}, // work
		{20<<20 + 1000, true}, {20<<20 + 2000, false}, // it has ended
		{20<<20 + 200<<10, false}, {20<<20 + 400<<10, false}, // only events
		{24<<20 + 200<<10, false}, {24<<20 + 300<<10, true},
	} {
		if got := m.due(c.allocated); got != c.due {
			t.Errorf("look %d, at %d bytes: %v", i, c.allocated, got)
		}
	}
}
