package schedule

import (
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/state"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

const layout = "2006-01-02 15:04 -0700"

// The clocks go on at 02:00 on 29 March 2026 and back at 03:00 on 25 October 2026 in Berlin; at midnight in Havana.
func TestNextAtChanges(t *testing.T) {
	for _, c := range []struct {
		name, zone, cron, after string
		want                    []string
	}{
		{"a skipped time is due when the clocks go on", "Europe/Berlin", "30 2 * * *", "2026-03-28 12:00 +0100",
			[]string{"2026-03-29 03:00 +0200", "2026-03-30 02:30 +0200"}},
		{"a skipped hour makes no second run", "Europe/Berlin", "0 * * * *", "2026-03-29 00:30 +0100",
			[]string{"2026-03-29 01:00 +0100", "2026-03-29 03:00 +0200", "2026-03-29 04:00 +0200"}},
		{"a doubled time is due once", "Europe/Berlin", "30 2 * * *", "2026-10-24 12:00 +0200",
			[]string{"2026-10-25 02:30 +0200", "2026-10-26 02:30 +0100"}},
		{"nor after the clocks went back", "Europe/Berlin", "30 2 * * *", "2026-10-25 02:10 +0100",
			[]string{"2026-10-26 02:30 +0100"}},
		{"every ten minutes, a doubled hour once", "Europe/Berlin", "*/30 * * * *", "2026-10-25 01:45 +0200",
			[]string{"2026-10-25 02:00 +0200", "2026-10-25 02:30 +0200", "2026-10-25 03:00 +0100"}},
		{"New York, every eighth hour", "America/New_York", "0 */8 * * *", "2024-11-03 00:30 -0400",
			[]string{"2024-11-03 08:00 -0500", "2024-11-03 16:00 -0500"}},
		{"Chicago, Saturdays", "America/Chicago", "0 2 * * 6", "2026-10-31 02:00 -0500",
			[]string{"2026-11-07 02:00 -0600"}},
		{"midnight is skipped", "America/Havana", "0 0 * * *", "2026-03-07 12:00 -0500",
			[]string{"2026-03-08 01:00 -0400", "2026-03-09 00:00 -0400"}},
		{"half an hour is skipped", "Australia/Lord_Howe", "15 2 * * *", "2026-10-03 12:00 +1030",
			[]string{"2026-10-04 02:30 +1100", "2026-10-05 02:15 +1100"}},
		{"UTC", "UTC", "0 8 * * 1-5", "2026-11-27 09:00 +0000", []string{"2026-11-30 08:00 +0000"}},
		{"never", "UTC", "0 0 30 2 *", "2026-11-27 09:00 +0000", []string{""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			loc := zone(t, c.zone)
			at, err := time.Parse(layout, c.after)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for range c.want {
				at = Next(state.When{Cron: c.cron}, at, loc)
				shown := ""
				if !at.IsZero() {
					shown = at.In(loc).Format(layout)
				}
				got = append(got, shown)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Over five years and in every zone with odd changes, a daily entry has one run on each day.
func TestNextOnceADay(t *testing.T) {
	for _, name := range []string{"Europe/Berlin", "America/New_York", "America/Havana", "Australia/Lord_Howe",
		"Africa/Cairo", "America/Santiago", "Asia/Beirut", "Pacific/Chatham", "UTC"} {
		loc := zone(t, name)
		for _, expr := range []string{"0 0 * * *", "30 0 * * *", "30 1 * * *", "30 2 * * *", "0 3 * * *"} {
			at := time.Date(2024, 1, 1, 12, 0, 0, 0, loc)
			day := at
			for range 5 * 365 {
				day = day.AddDate(0, 0, 1)
				next := Next(state.When{Cron: expr}, at, loc)
				if !next.After(at) || next.In(loc).Format(time.DateOnly) != day.Format(time.DateOnly) {
					t.Fatalf("%s in %s: after %s comes %s", expr, name, at, next)
				}
				at = next
			}
		}
	}
}

func TestNextEvery(t *testing.T) {
	begun := time.Date(2026, 11, 28, 8, 0, 0, 0, time.UTC)
	w := state.When{Every: 2 * time.Hour, From: begun}
	for after, want := range map[time.Duration]time.Duration{
		-time.Hour: 2 * time.Hour, 0: 2 * time.Hour, 119 * time.Minute: 2 * time.Hour, 2 * time.Hour: 4 * time.Hour,
		7 * time.Hour: 8 * time.Hour,
	} {
		if got := Next(w, begun.Add(after), time.UTC); !got.Equal(begun.Add(want)) {
			t.Errorf("after %s: %s", after, got)
		}
	}
}

func TestDueOf(t *testing.T) {
	day := func(d, hour, minute int) time.Time { return time.Date(2026, 11, d, hour, minute, 0, 0, time.UTC) }
	entry := func(m state.Missed) state.Entry {
		return state.Entry{When: state.When{Cron: "0 8 * * *"}, Missed: m, Next: day(20, 8, 0)}
	}
	once := state.Entry{When: state.When{At: day(20, 8, 0)}, Next: day(20, 8, 0)}
	often := state.Entry{When: state.When{Every: MinInterval, From: day(1, 0, 0)}, Missed: state.MissedAll,
		Next: day(1, 0, 5)}
	for _, c := range []struct {
		name       string
		e          state.Entry
		unfinished int
		now        time.Time
		want       Due
	}{
		{"not yet", entry(state.MissedOnce), 0, day(20, 7, 59), Due{Next: day(20, 8, 0)}},
		{"on time", entry(state.MissedSkip), 0, day(20, 8, 0), Due{Runs: []time.Time{day(20, 8, 0)}, Next: day(21, 8, 0)}},
		{"once", entry(state.MissedOnce), 0, day(22, 9, 0), Due{Runs: []time.Time{day(22, 8, 0)}, Missed: 2,
			Next: day(23, 8, 0)}},
		{"skip", entry(state.MissedSkip), 0, day(22, 9, 0), Due{Runs: []time.Time{}, Missed: 3, Next: day(23, 8, 0)}},
		{"skip what is missed, not what is due", entry(state.MissedSkip), 0, day(22, 8, 0),
			Due{Runs: []time.Time{day(22, 8, 0)}, Missed: 2, Next: day(23, 8, 0)}},
		{"all", entry(state.MissedAll), 0, day(22, 9, 0),
			Due{Runs: []time.Time{day(20, 8, 0), day(21, 8, 0), day(22, 8, 0)}, Next: day(23, 8, 0)}},
		{"a single run", once, 0, day(22, 9, 0), Due{Runs: []time.Time{day(20, 8, 0)}}},
		{"one run is unfinished", entry(state.MissedOnce), 1, day(20, 8, 0), Due{Runs: []time.Time{}, Missed: 1, Next: day(21, 8, 0)}},
		{"one of all", entry(state.MissedAll), 1, day(20, 8, 0), Due{Runs: []time.Time{day(20, 8, 0)}, Next: day(21, 8, 0)}},
		{"too many of all", entry(state.MissedAll), maxAll, day(20, 8, 0), Due{Runs: []time.Time{}, Missed: 1, Next: day(21, 8, 0)}},
	} {
		if diff := cmp.Diff(c.want, DueOf(c.e, c.unfinished, c.now, time.UTC)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	if d := DueOf(often, 0, day(29, 0, 0), time.UTC); len(d.Runs) != maxAll || d.Missed != 28*288-maxAll ||
		!d.Next.Equal(day(29, 0, 5)) || !d.Runs[maxAll-1].Equal(day(29, 0, 0)) {
		t.Errorf("a month: %d runs, %d missed, next %s", len(d.Runs), d.Missed, d.Next)
	}
}

func TestParse(t *testing.T) {
	loc := zone(t, "Europe/Berlin")
	now := time.Date(2026, 11, 28, 15, 0, 0, 0, loc)
	for _, c := range []struct{ kind, text, want string }{
		{"cron", "0  8 * * 1-5", "2026-11-30 08:00 +0100"},
		{"cron", "0 8 * *", "!"}, {"cron", "* * * * *", "!"}, {"cron", "@daily", "!"}, {"cron", "0 0 8 * * 1", "!"},
		{"cron", "*/5 * * * *", "2026-11-28 15:05 +0100"}, {"cron", "0,1 8 * * *", "!"}, {"cron", "0 0 30 2 *", "!"},
		{"every", "2h", "2026-11-28 17:00 +0100"}, {"every", "1d", "2026-11-29 15:00 +0100"}, {"every", "2 hours", "2026-11-28 17:00 +0100"}, {"every", "Day", "2026-11-29 15:00 +0100"},
		{"in", "20 minutes", "2026-11-28 15:20 +0100"}, {"in", "90min", "2026-11-28 16:30 +0100"}, {"in", "2 fortnights", "!"}, {"at", "tomorrow 8:00", "2026-11-29 08:00 +0100"}, {"at", "tomorrow", "!"},
		{"every", "1m", "!"}, {"every", "-2h", "!"}, {"every", "", "!"}, {"every", "500w", "!"},
		{"in", "20m", "2026-11-28 15:20 +0100"}, {"in", "0", "!"}, {"in", "9999999999h", "!"},
		{"at", "16:30", "2026-11-28 16:30 +0100"}, {"at", "14:30", "2026-11-29 14:30 +0100"},
		{"at", "2026-12-01 08:00", "2026-12-01 08:00 +0100"}, {"at", "2026-12-01T08:00:00Z", "2026-12-01 09:00 +0100"},
		{"at", "2026-11-01 08:00", "!"}, {"at", "2036-11-01 08:00", "!"}, {"at", "noon", "!"},
		{"at", "2027-03-28 02:30", "2027-03-28 03:00 +0200"},
	} {
		var w state.When
		var err error
		switch c.kind {
		case "cron":
			w, err = Cron(c.text, now, loc)
		case "every":
			w, err = Every(c.text, now)
		case "in":
			w, err = In(c.text, now)
		case "at":
			w, err = At(c.text, now, loc)
		}
		got := "!"
		if err == nil {
			got = Next(w, now, loc).In(loc).Format(layout)
		}
		if got != c.want {
			t.Errorf("%s %q: %s (%v), not %s", c.kind, c.text, got, err, c.want)
		}
	}
}
