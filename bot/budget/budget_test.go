package budget

import (
	"errors"
	"testing"
	"time"
)

// The total is read once a day, and counts what is spent after that.
func TestTotal(t *testing.T) {
	var all total
	now := time.Date(2026, 11, 27, 23, 59, 0, 0, time.UTC)
	reads := 0
	check := func(at time.Time, want int64) {
		t.Helper()
		got, err := all.of(at, func() (int64, error) { reads++; return 100, nil })
		if err != nil || got != want {
			t.Errorf("%d, %v, want %d", got, err, want)
		}
	}
	all.add(now, 50) // the journal has it
	check(now, 100)
	all.add(now, 5)
	check(now, 105)
	if _, err := all.of(now.Add(time.Hour), func() (int64, error) { return 0, errors.New("busy") }); err == nil {
		t.Error("no error")
	}
	check(now.Add(time.Hour), 100)
	all.add(now, 7) // of yesterday
	check(now.Add(time.Hour), 100)
	if reads != 2 {
		t.Errorf("%d reads", reads)
	}
}
