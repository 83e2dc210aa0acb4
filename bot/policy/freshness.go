package policy

import (
	"cmp"
	"time"
)

// Freshness says when a room's session is stale, so that the next task starts a new one. nil is not set.
type Freshness struct {
	Hour *int           // stale if last used before the newest time at this hour, 0 to 23, sharp; negative: never
	Idle *time.Duration // stale if not used for this long; 0: never
}

// NoHour turns the daily hour off in a room.
const NoHour = -1

// Or returns f with what it does not set from other.
func (f Freshness) Or(other Freshness) Freshness {
	return Freshness{cmp.Or(f.Hour, other.Hour), cmp.Or(f.Idle, other.Idle)}
}

// Set reports whether there is a rule.
func (f Freshness) Set() bool { return f.Hour != nil && *f.Hour >= 0 || f.Idle != nil && *f.Idle > 0 }

// Stale reports whether a session that was last used at a time is stale now. The hour is one in now's time zone. A
// session whose last use is unknown, or in the future because the clock was set back, is not stale.
func (f Freshness) Stale(used, now time.Time) bool {
	if used.IsZero() || used.After(now) {
		return false
	}
	if f.Idle != nil && *f.Idle > 0 && now.Sub(used) >= *f.Idle {
		return true
	}
	if f.Hour == nil || *f.Hour < 0 {
		return false
	}
	newest := time.Date(now.Year(), now.Month(), now.Day(), *f.Hour, 0, 0, 0, now.Location())
	if newest.After(now) {
		newest = time.Date(now.Year(), now.Month(), now.Day()-1, *f.Hour, 0, 0, 0, now.Location())
	}
	return used.Before(newest)
}
