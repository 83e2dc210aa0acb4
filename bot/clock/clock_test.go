package clock

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"matrix-tui/state"
)

// After a jump of a day or more, the believed time passes at most twice as fast as the host has been running.
func TestBelieve(t *testing.T) {
	const day = 24 * time.Hour
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	last := state.Clock{Time: at, Boot: "a", Up: day}
	behind := last
	behind.Behind = true
	for name, c := range map[string]struct {
		last   state.Clock
		boot   string
		up     time.Duration
		shown  time.Duration // after at
		want   time.Duration // the same
		behind bool
	}{
		"the first time":          {state.Clock{}, "a", day, 90 * day, 90 * day, false},
		"time passes":             {last, "a", day + time.Hour, time.Hour, time.Hour, false},
		"the bot was stopped":     {last, "a", 9 * day, 8 * day, 8 * day, false},
		"a jump ahead":            {last, "a", day + time.Hour, 365 * day, 2 * time.Hour, true},
		"it is behind":            {behind, "a", day + time.Hour, 10 * time.Hour, 2 * time.Hour, true},
		"it catches up":           {behind, "a", 9 * day, 12 * day, 12 * day, false},
		"a reboot":                {last, "b", time.Minute, 2 * time.Minute, 2 * time.Minute, false},
		"the host was off":        {last, "b", time.Hour, 30 * day, 2 * time.Hour, true},
		"off for a night":         {last, "b", time.Minute, 9 * time.Hour, 9 * time.Hour, false},
		"a jump back":             {last, "a", day + time.Hour, -365 * day, time.Hour, false},
		"a jump back from behind": {behind, "a", day + time.Hour, -day, time.Hour, false},
		"the uptime is unknown":   {last, "", 0, 30 * day, 30 * day, false},
	} {
		got := believe(c.last, state.Clock{Time: at.Add(c.shown), Boot: c.boot, Up: c.up})
		if diff := cmp.Diff(state.Clock{Time: at.Add(c.want), Boot: c.boot, Up: c.up, Behind: c.behind}, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// While the time catches up, a time limit takes as long as it says.
func TestLimitBehind(t *testing.T) {
	now := time.Now().Round(0)
	for behind, want := range map[time.Duration]time.Duration{0: time.Hour, 30 * time.Minute: 90 * time.Minute, 48 * time.Hour: 2 * time.Hour} {
		c := Clock{last: state.Clock{Time: now.Add(-behind), Boot: bootID(), Up: uptime(), Behind: behind > 0}}
		end := c.In(now, time.Hour)
		if got := end.Sub(now.Add(-behind)); (got - want).Abs() > time.Minute {
			t.Errorf("%s behind, an hour ends after %s, want %s", behind, got, want)
		}
	}
}

// The owners are told once about a jump, also over a restart, and the time on which the bot acts goes back with the clock.
func TestClockJumps(t *testing.T) {
	journal, err := state.OpenJournal(t.Context(), filepath.Join(t.TempDir(), "journal.db"), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	now := time.Now()
	c := Clock{last: state.Clock{Time: now, Boot: bootID(), Up: uptime()}}
	if _, news := c.Look(now.Add(time.Hour)); news {
		t.Error("told of an hour")
	}
	kept, news := c.Look(now.Add(30 * clockDoubt))
	if !news || kept.Time.After(now.Add(time.Hour+time.Minute)) {
		t.Errorf("news %v, the time is %s after %s", news, kept.Time, now)
	}
	if err := journal.KeepClock(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	c = Clock{}
	if err := c.Resume(t.Context(), journal); err != nil {
		t.Fatal(err)
	}
	if _, news := c.Look(now.Add(31 * clockDoubt)); news {
		t.Error("told twice")
	}
	if back := now.Add(-time.Hour); !c.Now(back).Equal(back) {
		t.Error("the time does not go back")
	}
	if _, news := c.Look(now); news {
		t.Error("told of the right time")
	}
	if _, news := c.Look(now.Add(30 * clockDoubt)); !news {
		t.Error("not told of the next jump")
	}
}
