package schedule

import (
	"time"

	"matrix-tui/state"
)

const (
	// maxAll bounds the runs that are made up for at once. Older ones are dropped.
	maxAll = 24
	// maxPassed bounds the times that are looked at: a year of the shortest interval.
	maxPassed = 366 * 24 * time.Hour / MinInterval
)

// Due is what is due of an entry at a time.
type Due struct {
	Runs   []time.Time // for which a task is queued, oldest first
	Missed int         // times that pass without a run
	Next   time.Time   // the first one after that; zero if there is none
}

// DueOf returns what is due of an entry, of which e.Next is the first time that nobody has looked at and some runs are
// unfinished. These stand for what is due: otherwise an entry that takes longer than its interval would fill the queue.
func DueOf(e state.Entry, unfinished int, now time.Time, zone *time.Location) (d Due) {
	d.Next = e.Next
	for n := 0; !d.Next.IsZero() && !d.Next.After(now); n++ {
		if time.Duration(n) == maxPassed {
			d.Next = now
		}
		d.Runs = append(d.Runs, d.Next)
		if over := len(d.Runs) - maxAll; over > 0 {
			d.Runs, d.Missed = d.Runs[over:], d.Missed+over
		}
		d.Next = Next(e.When, d.Next, zone)
	}
	keep := len(d.Runs)
	switch {
	case keep == 0:
	case e.Missed == state.MissedAll:
		keep = min(keep, max(maxAll-unfinished, 0))
	case unfinished > 0:
		keep = 0
	case e.Missed == state.MissedSkip && now.Sub(d.Runs[keep-1]) > state.OnTime:
		keep = 0
	default:
		keep = 1
	}
	d.Missed += len(d.Runs) - keep
	d.Runs = d.Runs[len(d.Runs)-keep:]
	return d
}
