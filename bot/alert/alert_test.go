package alert

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"matrix-tui/bot/capacity"
	"matrix-tui/bot/roster"
)

func TestAlertsDecide(t *testing.T) {
	begin := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	var a alerts
	for _, step := range []struct {
		after       time.Duration
		free        uint64
		short, over bool
	}{
		{0, 5 << 30, false, false},
		{time.Minute, lowDisk, false, false}, // exactly at the limit is not low
		{2 * time.Minute, lowDisk - 1, true, false},
		{3 * time.Minute, 1, false, false},                           // already reported
		{4 * time.Minute, lowDisk + 1, false, false},                 // between low and well
		{5 * time.Minute, lowDisk * 3 / 2, false, true},              // over
		{6 * time.Minute, 5 << 30, false, false},                     // already reported
		{7 * time.Minute, 1, false, false},                           // low again, but too soon
		{8 * time.Minute, lowDisk * 3 / 2, false, false},             // no all-clear for an alert that was not sent
		{alertPause + 2*time.Minute - 1, 1, false, false},            // slightly too soon
		{alertPause + 2*time.Minute, 1, true, false},                 // repeated while it lasts
		{2*alertPause + 2*time.Minute, 1, true, false},               // still low
		{2*alertPause + 3*time.Minute, lowDisk * 3 / 2, false, true}, // over
		{-time.Hour, 1, true, false},                                 // the clock was set back: rather twice than never
	} {
		short, over, next := a.decide(begin.Add(step.after), []reading{diskReading(alertState, "x", "/x", capacity.Space{Bytes: step.free}, 0), quotaReading(0, 0)})
		if (len(short) == 1) != step.short || (len(over) == 1) != step.over {
			t.Errorf("after %s, %d free: short %v, over %v", step.after, step.free, short, over)
		}
		a = next
	}
	// A resource that cannot be measured for a while is not forgotten.
	_, _, next := a.decide(begin, nil)
	if diff := cmp.Diff(a, next); diff != "" {
		t.Errorf("without readings (-before +after):\n%s", diff)
	}
}

func TestReadings(t *testing.T) {
	for _, c := range []struct {
		r         reading
		low, well bool
		says      string
	}{
		{memoryReading(lowMemory - 1), true, false, "200 MB of memory available"},
		{memoryReading(lowMemory), false, false, "200 MB"},
		{memoryReading(wellMemory), false, true, "400 MB"},
		{quotaReading(0, 0), false, true, "the model answers"},
		{quotaReading(lowQuota-1, longQuota), false, false, "exhausted (the last 2)"},
		{quotaReading(lowQuota, 0), true, false, "(the last 3)"},
		{quotaReading(1, longQuota+1), true, false, "(the last 1)"},
		{diskReading(alertStorage, "the containers", "/var/`x`", capacity.Space{}, 0), true, false, "the disk of the containers (`` /var/`x` ``) has 0 B free"},
	} {
		if c.r.low != c.low || c.r.well != c.well || !strings.Contains(c.r.now, c.says) {
			t.Errorf("%+v, want low %v, well %v, %q", c.r, c.low, c.well, c.says)
		}
	}
	text := alertText([]reading{memoryReading(1)}, []reading{quotaReading(0, 0)})
	if want := "⚠️ Running short: the host has 1 B of memory available. Fewer tasks"; !strings.HasPrefix(text, want) || !strings.HasSuffix(text, "✅ Back to normal: the model answers.") {
		t.Error(text)
	}
	if got := standing([]reading{memoryReading(1 << 30), quotaReading(0, 0)}); got != "The host has 1 GB of memory available; the model answers." {
		t.Error(got)
	}
}

// Open is what is short or was reported, until it is well, and what nobody could be told.
func TestOpen(t *testing.T) {
	told := alerts{Told: map[alertKind]toldAlert{alertMemory: {At: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC), Open: true}}}
	for _, c := range []struct {
		a    alerts
		r    reading
		want string
	}{
		{told, memoryReading(wellMemory), ""},
		{told, memoryReading(wellMemory - 1), "Running short: the host has 400 MB of memory available"},
		{told, memoryReading(1), "told on 2 January 2026, 03:04 UTC."},
		{told, quotaReading(lowQuota, 0), "Running short: the model"},
		{told, quotaReading(1, 0), ""},
		{alerts{}, memoryReading(wellMemory - 1), ""},
		{alerts{Notes: []string{"a note"}}, quotaReading(0, 0), "a note"},
	} {
		if got := strings.Join(c.a.open([]reading{c.r}), " "); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%+v, %+v: %q", c.a, c.r, got)
		}
	}
	w := newWatch(t.TempDir(), lowQuota)
	w.Note("a note")
	if all, open := w.Now(t.Context()); !strings.Contains(all, "quota is exhausted") || len(open) < 2 || open[len(open)-1] != "a note" {
		t.Error(all, open)
	}
}

func newWatch(dir string, refused int) *Watch {
	return New(Config{
		StateDir: dir, Owners: []string{"@ann:here"}, Roster: &roster.Roster{}, Log: zerolog.Nop(),
		Storage: func(context.Context) (string, error) { return dir, nil }, Limited: func() (int, time.Duration) { return refused, 0 },
	})
}

// A note is kept until there is a room that takes it, also over a restart.
func TestNotes(t *testing.T) {
	dir := t.TempDir()
	open := func() *Watch {
		return newWatch(dir, 0)
	}
	var sent []string
	taken := false
	send := func(room, text string, short bool) (bool, bool) {
		if room != "!a" || !short {
			t.Errorf("to %q, short %v", room, short)
		}
		sent = append(sent, text)
		return taken, false
	}
	w := open()
	w.Note("first")
	w.Note("first")
	w.look(t.Context(), send)
	if w = open(); w.Tell("!a") != nil {
		t.Fatal("cannot set the room")
	}
	w.Note("second")
	w.look(t.Context(), send)
	taken = true
	w.look(t.Context(), send)
	w.look(t.Context(), send)
	open().look(t.Context(), send)
	if diff := cmp.Diff([]string{"first\n\nsecond", "first\n\nsecond"}, sent); diff != "" {
		t.Error(diff)
	}
	// Without a room, or if the room refuses it, the owners' direct chats get it, and one of them is enough.
	w = open()
	if err := w.Tell("!left"); err != nil {
		t.Fatal(err)
	}
	w.Roster.Direct.Take(map[string][]string{"@ann:here": {"!gone", "!direct"}})
	w.Note("third")
	var rooms []string
	for range 2 {
		w.look(t.Context(), func(room, text string, _ bool) (bool, bool) {
			rooms = append(rooms, room+" "+text)
			return room == "!direct", room != "!direct"
		})
	}
	if diff := cmp.Diff([]string{"!left third", "!gone third", "!direct third"}, rooms); diff != "" {
		t.Error(diff)
	}
	var a alerts
	for i := range 2 * maxNotes {
		a = a.note(strconv.Itoa(i))
	}
	if len(a.Notes) != maxNotes || a.Notes[maxNotes-1] != strconv.Itoa(2*maxNotes-1) {
		t.Error(a.Notes)
	}
}

// Without a room for alerts, owners are told in their direct chats that no task starts, and when that is over. They are
// not told of what is only low, nor if alerts are off.
func TestReserveWithoutRoom(t *testing.T) {
	dir := t.TempDir()
	w := newWatch(dir, 9)
	var told []string
	taking := ""
	look := func(what string, want ...string) {
		t.Helper()
		told = nil
		w.look(t.Context(), func(room, text string, short bool) (bool, bool) {
			before, _, _ := strings.Cut(text, ":")
			told = append(told, room+" "+before)
			if short != strings.HasPrefix(before, "⚠️") || strings.Contains(text, "quota") != (what == "the room refuses it") {
				t.Errorf("%s: short is %v: %s", what, short, text)
			}
			return room == taking, room == "!here" || room == "!gone"
		})
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("%s (-want +told):\n%s", what, diff)
		}
	}
	w.Reserve = 1 << 60
	look("nobody is there")
	w.Roster.Direct.Take(map[string][]string{"@ann:here": {"!gone", "!direct"}})
	look("nobody gets it", "!gone ⚠️ Running short", "!direct ⚠️ Running short")
	taking = "!direct"
	look("again", "!gone ⚠️ Running short", "!direct ⚠️ Running short")
	look("once is enough")
	w.kept.Told[alertState] = toldAlert{At: time.Now(), Open: true}
	w.Reserve = 0
	if free, err := capacity.FreeSpace(dir); err == nil && free.Bytes > 2*lowDisk {
		look("over", "!gone ✅ Back to normal", "!direct ✅ Back to normal")
	}
	w.Reserve = 1 << 60
	if err := w.Tell(""); err != nil {
		t.Fatal(err)
	}
	w.kept.Told = nil
	look("off")
	if err := w.Tell("!here"); err != nil {
		t.Fatal(err)
	}
	w.Roster.Direct.Take(map[string][]string{"@ann:here": {"!direct"}})
	look("the room refuses it", "!here ⚠️ Running short", "!direct ⚠️ Running short")
}

// The reserve moves the limit up, and the alert says what it means. It never moves the limit down.
func TestReserve(t *testing.T) {
	for _, c := range []struct {
		free, reserve uint64
		low, well     bool
		mend          string
	}{
		{lowDisk - 1, 0, true, false, "tasks will fail"},
		{lowDisk - 1, lowDisk / 2, true, false, "tasks will fail"},
		{lowDisk - 1, lowDisk, true, false, "No task starts until 1 GB is free (DISK_RESERVE)"},
		{lowDisk, lowDisk, false, false, ""},
		{4 * lowDisk, 5 * lowDisk, true, false, "No task starts until 5 GB is free"},
		{7 * lowDisk, 5 * lowDisk, false, false, ""},
		{8 * lowDisk, 5 * lowDisk, false, true, ""},
	} {
		got := diskReading(alertState, "x", "/x", capacity.Space{Bytes: c.free}, c.reserve)
		if got.low != c.low || got.well != c.well || !strings.Contains(got.mend, c.mend) {
			t.Errorf("%d free, reserve %d: %+v", c.free, c.reserve, got)
		}
	}
}

// A disk that is short of files says how much it needs of both.
func TestShortOfBoth(t *testing.T) {
	got := diskReading(alertState, "x", "/x", capacity.Space{Bytes: lowDisk, Files: 3, LeastFiles: 10}, 2*lowDisk)
	if !got.stops || !strings.Contains(got.now, "1 GB free, and only 3 more files") || !strings.Contains(got.mend, "and 2 GB") ||
		!strings.Contains(got.mend, "with more inodes.") {
		t.Errorf("%+v", got)
	}
}
