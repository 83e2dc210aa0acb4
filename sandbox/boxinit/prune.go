package boxinit

import (
	"os"
	"slices"
	"time"
)

// Limits on runs that have ended: their number, and the bytes of output of all but the newest few.
const (
	keepRuns   = 200
	keepBytes  = 1 << 30
	keepAlways = 5
)

// prune removes the oldest ended runs until at most runs are left and their output is within bytes. It never touches an
// active run, nor one that has left something running.
func (s store) prune(runs int, bytes int64) {
	type ended struct {
		id    string
		began time.Time
		size  int64
	}
	entries, err := os.ReadDir(s.runs())
	if err != nil {
		return
	}
	alive := s.alive()
	var list []ended
	for _, e := range entries {
		if slices.Contains(alive, e.Name()) {
			continue
		}
		r := ended{id: e.Name()}
		if info, err := os.Stat(s.file(r.id, "begin.json")); err == nil {
			r.began = info.ModTime()
		}
		r.size = max(0, sizeOf(s.file(r.id, "out")))
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b ended) int { return b.began.Compare(a.began) }) // newest first
	var total int64
	for i, r := range list {
		total += r.size
		if (i >= runs || total > bytes && i >= keepAlways) && !held(s.file(r.id, "lock")) {
			os.RemoveAll(s.run(r.id))
		}
	}
}
