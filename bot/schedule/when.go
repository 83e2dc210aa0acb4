package schedule

import (
	"time"

	"github.com/adhocore/gronx"

	"matrix-tui/state"
)

// Next returns the first time after another at which an entry is due; zero if there is none.
// A time that the clocks skip in spring is due when they go on; one that comes twice in autumn is due the first time.
func Next(w state.When, after time.Time, zone *time.Location) time.Time {
	switch {
	case w.Cron != "":
		return nextCron(w.Cron, after, zone)
	case w.Every > 0:
		return w.From.Add((max(after.Sub(w.From), 0)/w.Every + 1) * w.Every)
	case w.At.After(after):
		return w.At
	}
	return time.Time{}
}

// maxTicks bounds how many times of a cron expression have passed already because the clocks were put back: those of
// three hours at most, one a minute.
const maxTicks = 200

// nextCron reckons in times that a clock on the wall shows, as if there were no changes between them: gronx and others
// are wrong at these.
func nextCron(expr string, after time.Time, zone *time.Location) time.Time {
	wall := wallOf(after.In(zone))
	for range maxTicks {
		tick, err := gronx.NextTickAfter(expr, wall, false)
		if err != nil {
			return time.Time{} // it is never due, as on 30 February
		}
		if at := moment(tick, zone); at.After(after) {
			return at
		}
		wall = tick
	}
	return time.Time{}
}

// wallOf returns what a clock shows at t, as a time in UTC.
func wallOf(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// moment returns the first time at which a clock in the zone shows wall or, if the clocks skip that, the time at which
// they do.
func moment(wall time.Time, zone *time.Location) time.Time {
	at := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, zone)
	begins, ends := at.ZoneBounds()
	switch shown := wallOf(at); {
	case shown.After(wall): // skipped, and at is after the change
		return begins
	case shown.Before(wall): // skipped, and at is before the change
		return ends
	case begins.IsZero():
		return at
	}
	_, offset := at.Zone()
	_, before := begins.Add(-time.Second).Zone()
	if first := at.Add(time.Duration(offset-before) * time.Second); first.Before(begins) && first.Before(at) {
		return first // it comes twice, and at is the second time
	}
	return at
}
