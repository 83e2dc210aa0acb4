package bot

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot/clock"
	"matrix-tui/bot/matrix"
	"matrix-tui/bot/task"
	"matrix-tui/state"
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
			account, err := matrix.New(matrix.Config{Homeserver: server.URL, User: "@bot:here", Log: zerolog.Nop()})
			if err != nil {
				t.Fatal(err)
			}
			b.use(account)
			if c.lastTime > 0 {
				last, _ := new(clock.Clock).Look(time.Now().Add(-c.lastTime))
				last.Up -= time.Hour
				if err := b.Journal.KeepClock(t.Context(), last); err != nil {
					t.Fatal(err)
				}
			}
			if err := b.clock.Resume(t.Context(), b.Journal); err != nil {
				t.Fatal(err)
			}
			if _, err := b.roster.IsIn(t.Context(), d.id); err != nil {
				t.Fatal(err)
			}
			rec := d.asks("$1", time.Now().Add(-time.Minute))
			if rooms, _ := b.waits.Next(b.clock.Now()); (len(rooms) > 0) != c.ends {
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
	err = d.env.Restore(d.t.Context(), rec)
	must(err)
	return rec
}
