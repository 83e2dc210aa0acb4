package bot

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// With this host's clock a year ahead, no question expires and nothing is purged, also if the homeserver has the same clock.
// With the right clock both happen.
func TestClockAYearAhead(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for name, c := range map[string]struct {
		server   time.Duration // from this host's clock
		lastTime time.Duration // before now, when this boot was an hour younger
		ends     bool
	}{
		"both are right":       {0, time.Hour, true},
		"this host's is wrong": {-year, year + time.Hour, false},
		"both are wrong":       {0, year + time.Hour, false},
		"the first start":      {-year, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Date", time.Now().Add(c.server).UTC().Format(http.TimeFormat))
				_, _ = w.Write([]byte(`{"joined_rooms":[]}`))
			}))
			defer server.Close()
			d := newDeciding(t, "")
			b := d.bot
			b.Archive = -time.Minute // what is stored now is old
			var err error
			if b.account, err = matrix.New(matrix.Config{Homeserver: server.URL, User: "@bot:here", Log: zerolog.Nop()}); err != nil {
				t.Fatal(err)
			}
			if c.lastTime > 0 {
				last := state.Clock{Time: time.Now().Add(-c.lastTime), Boot: bootID(), Up: uptime() - time.Hour}
				if err := b.Journal.KeepClock(t.Context(), last); err != nil {
					t.Fatal(err)
				}
			}
			if err := b.resumeClock(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := b.isIn(t.Context(), d.id); err != nil {
				t.Fatal(err)
			}
			rec := d.asks("$1", time.Now().Add(-time.Minute))
			if rooms, _ := b.waits.Next(b.now()); (len(rooms) > 0) != c.ends {
				t.Errorf("due now: %v", rooms)
			}
			if ended, err := d.env.Look(t.Context(), rec.Key); ended != c.ends || err != nil {
				t.Errorf("the question has expired: %v, %v", ended, err)
			}
			d.text("$2", "@ann:here", "old", 0)
			d.text("$3", "@ann:here", "the newest event of a room stays", 0)
			if err := b.Journal.Events.FinishUpTo(t.Context(), d.id, 1<<60); err != nil {
				t.Fatal(err)
			}
			b.purgeOnce(t.Context())
			if _, err := b.Journal.Events.Get(t.Context(), d.id, "$2"); errors.Is(err, state.ErrNotFound) != c.ends {
				t.Errorf("the old event: %v", err)
			}
		})
	}
}

// asks commits an event whose task waits for an answer until a time.
func (d *deciding) asks(id string, until time.Time) state.Task {
	d.t.Helper()
	must := func(err error) {
		d.t.Helper()
		if err != nil {
			d.t.Fatal(err)
		}
	}
	d.text(id, "@ann:here", "do it", time.Minute)
	row, err := d.bot.Journal.Events.Get(d.t.Context(), d.id, id)
	must(err)
	rec, err := task.New(state.Task{Source: state.FromRoom, Home: d.id, Execution: "1", Text: "do it"}, row)
	must(err)
	must(d.bot.Journal.Tasks.Enqueue(d.t.Context(), rec))
	rec.Question, rec.QuestionRoom, rec.QuestionEvent, rec.QuestionDeadline = "which?", d.id, "$q", until
	must(d.bot.Journal.Tasks.Wait(d.t.Context(), rec, nil))
	_, err = d.env.Restore(d.t.Context(), rec)
	must(err)
	return rec
}

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
		c := clock{last: state.Clock{Time: now.Add(-behind), Boot: bootID(), Up: uptime(), Behind: behind > 0}}
		end := c.in(now, time.Hour)
		if got := end.Sub(now.Add(-behind)); (got - want).Abs() > time.Minute {
			t.Errorf("%s behind, an hour ends after %s, want %s", behind, got, want)
		}
	}
}

// The owners are told once about a jump, also over a restart, and the time on which the bot acts goes back with the clock.
func TestClockJumps(t *testing.T) {
	d := newDeciding(t, "")
	now := time.Now()
	c := clock{last: state.Clock{Time: now, Boot: bootID(), Up: uptime()}}
	if _, news := c.look(now.Add(time.Hour)); news {
		t.Error("told of an hour")
	}
	kept, news := c.look(now.Add(30 * clockDoubt))
	if !news || kept.Time.After(now.Add(time.Hour+time.Minute)) {
		t.Errorf("news %v, the time is %s after %s", news, kept.Time, now)
	}
	if err := d.bot.Journal.KeepClock(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	last, err := d.bot.Journal.LastClock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c = clock{last: last}
	if _, news := c.look(now.Add(31 * clockDoubt)); news {
		t.Error("told twice")
	}
	if back := now.Add(-time.Hour); !c.read(back).Equal(back) {
		t.Error("the time does not go back")
	}
	if _, news := c.look(now); news {
		t.Error("told of the right time")
	}
	if _, news := c.look(now.Add(30 * clockDoubt)); !news {
		t.Error("not told of the next jump")
	}
}

// The journal keeps other people's edits, and ours only of what was not an edit.
func TestOwnEditsAreNotKept(t *testing.T) {
	b := newDeciding(t, "").bot
	edit := event.Event{Sender: b.UserID(), Type: event.TypeMessage, Body: event.Body{Message: &event.Message{RelatesTo: event.Relation{RelType: "m.replace", EventID: "$1"}}}}
	theirs, plain := edit, edit
	theirs.Sender, plain.Body.Message = "@ann:here", &event.Message{}
	if !b.isOwnEdit(edit) || b.isOwnEdit(theirs) || b.isOwnEdit(plain) {
		t.Error(b.isOwnEdit(edit), b.isOwnEdit(theirs), b.isOwnEdit(plain))
	}
}
