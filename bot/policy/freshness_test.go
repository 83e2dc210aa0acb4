package policy

import (
	"strings"
	"testing"
	"time"
)

func TestStale(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := func(text string) time.Time {
		t.Helper()
		if text == "" {
			return time.Time{}
		}
		when, err := time.ParseInLocation("2006-01-02 15:04 -0700", text, berlin)
		if err != nil {
			if when, err = time.ParseInLocation("2006-01-02 15:04", text, berlin); err != nil {
				t.Fatal(err)
			}
		}
		return when.In(berlin)
	}
	four, two, midnight, never := 4, 2, 0, NoHour
	hour, nothing := time.Hour, time.Duration(0)
	for _, c := range []struct {
		name      string
		rule      Freshness
		used, now string
		want      bool
	}{
		{"no rule", Freshness{}, "2025-01-01 00:00", "2026-07-01 12:00", false},
		{"both off", Freshness{&never, &nothing}, "2025-01-01 00:00", "2026-07-01 12:00", false},
		{"last use unknown", Freshness{&four, &hour}, "", "2026-07-01 12:00", false},
		{"the clock was set back", Freshness{&four, &hour}, "2026-07-02 12:00", "2026-07-01 12:00", false},

		{"idle", Freshness{Idle: &hour}, "2026-07-01 11:00", "2026-07-01 12:00", true},
		{"not idle", Freshness{Idle: &hour}, "2026-07-01 11:01", "2026-07-01 12:00", false},
		{"idle while summer time begins", Freshness{Idle: &hour}, "2026-03-29 01:59", "2026-03-29 03:01", false}, // two minutes

		{"before the hour, used yesterday after it", Freshness{Hour: &four}, "2026-06-30 04:00", "2026-07-01 03:59", false},
		{"after the hour", Freshness{Hour: &four}, "2026-07-01 03:59", "2026-07-01 04:00", true},
		{"used after the hour", Freshness{Hour: &four}, "2026-07-01 04:00", "2026-07-01 23:59", false},
		{"before the hour, used the day before yesterday", Freshness{Hour: &four}, "2026-06-29 23:00", "2026-07-01 03:00", true},
		{"midnight", Freshness{Hour: &midnight}, "2026-06-30 23:59", "2026-07-01 00:00", true},
		{"over the new year", Freshness{Hour: &four}, "2025-12-31 03:00", "2026-01-01 00:01", true},
		{"the hour comes first", Freshness{&four, &hour}, "2026-07-01 03:50", "2026-07-01 04:05", true},

		// On 29 March 2026, 02:00 does not exist; on 25 October it comes twice.
		{"the hour is skipped, after", Freshness{Hour: &two}, "2026-03-29 00:30", "2026-03-29 03:30", true},
		{"the hour is skipped, next day", Freshness{Hour: &two}, "2026-03-29 03:30", "2026-03-30 01:30", false},
		{"the hour comes twice, before both", Freshness{Hour: &two}, "2026-10-25 01:30 +0200", "2026-10-25 02:30 +0100", true},
		{"the hour comes twice, after both", Freshness{Hour: &two}, "2026-10-25 02:30 +0100", "2026-10-25 12:00", false},
		{"the day is longer", Freshness{Hour: &four}, "2026-10-24 04:00", "2026-10-25 03:59", false},
	} {
		if got := c.rule.Stale(at(c.used), at(c.now)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if (Freshness{&never, &nothing}).Set() || (Freshness{}).Set() || !(Freshness{Hour: &midnight}).Set() || !(Freshness{Idle: &hour}).Set() {
		t.Error("Set")
	}
}

func TestFreshnessOfRooms(t *testing.T) {
	p, err := Parse([]byte("defaults: {limits: {session_daily_hour: 4}}\nrooms:\n  \"!a:x\": {limits: {session_daily_hour: -1, session_idle_minutes: 90}}\n  \"!b:x\": {limits: {session_idle_minutes: 0}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	six, idle := 6, time.Minute
	settings := Freshness{&six, &idle}
	for room, want := range map[string]struct {
		hour int
		idle time.Duration
	}{"!a:x": {-1, 90 * time.Minute}, "!b:x": {4, 0}, "!c:x": {4, time.Minute}} {
		if f := p.Room(room).Fresh.Or(settings); *f.Hour != want.hour || *f.Idle != want.idle {
			t.Errorf("%s: %d, %s", room, *f.Hour, *f.Idle)
		}
	}
	if shown := p.Show("!a:x"); !strings.Contains(shown, "- `session_daily_hour`: never (this room)\n- `session_idle_minutes`: 90 (this room)\n") {
		t.Error(shown)
	}
	for _, wrong := range []string{"session_daily_hour: 24", "session_daily_hour: -2", "session_daily_hour: 4.5", "session_idle_minutes: -1", "session_idle_minutes: 525601"} {
		if _, err := Parse([]byte("defaults: {limits: {" + wrong + "}}")); err == nil || !strings.Contains(err.Error(), "is not a whole number from") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
