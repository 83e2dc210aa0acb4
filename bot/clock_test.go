package bot

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// With this host's clock a year ahead, no question expires and nothing is purged.
func TestClockAYearAhead(t *testing.T) {
	const year = 365 * 24 * time.Hour
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(-year).UTC().Format(http.TimeFormat))
		_, _ = w.Write([]byte(`{"joined_rooms":[]}`))
	}))
	defer server.Close()
	d := newDeciding(t, "")
	b := d.bot
	var err error
	if b.account, err = matrix.New(matrix.Config{Homeserver: server.URL, User: "@bot:here", Log: zerolog.Nop()}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.isIn(t.Context(), d.id); err != nil {
		t.Fatal(err)
	}
	d.text("$1", "@ann:here", "do it", time.Minute)
	row, err := b.Journal.Event(t.Context(), d.id, "$1")
	if err != nil {
		t.Fatal(err)
	}
	rec, err := task.New(state.Task{Source: state.FromRoom, Home: d.id, Execution: "1", Text: "do it"}, row)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Journal.Enqueue(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	rec.Question, rec.QuestionRoom, rec.QuestionEvent = "which?", d.id, "$q"
	rec.QuestionDeadline = time.Now().Add(-year + time.Hour)
	if err := b.Journal.Wait(t.Context(), rec, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := d.env.Restore(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	if rooms, at := b.waits.Next(b.account.Now()); len(rooms) > 0 || at.After(rec.QuestionDeadline) {
		t.Errorf("due now: %v, or at %s", rooms, at)
	}
	if ended, err := d.env.Look(t.Context(), rec.Key); ended || err != nil {
		t.Errorf("the question has expired: %v, %v", ended, err)
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
