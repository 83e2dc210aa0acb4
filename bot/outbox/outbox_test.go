package outbox

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/queue"
	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// newOutbox returns the outbox of a room, whose log goes to log. There is no homeserver.
func newOutbox(t *testing.T, log *strings.Builder) *Room {
	t.Helper()
	journal, err := state.OpenJournal(t.Context(), filepath.Join(t.TempDir(), "journal.db"), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = journal.Close() })
	account, err := matrix.New(matrix.Config{Homeserver: "http://127.0.0.1:1", User: "@bot:here", Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	s := &Shared{Journal: journal, Account: account, Synced: &queue.Gate{}, Group: &queue.Group{Context: t.Context(), Log: zerolog.New(log)}}
	return s.Room("!den:here", nil)
}

// A message that panics when it is sent does not end the process. It is given up, with a sentence in its place that
// panics here as well, and the next one is sent.
func TestPanicOfAMessage(t *testing.T) {
	var log strings.Builder
	r := newOutbox(t, &log)
	r.Account = nil
	if err := r.Journal.Messages.Queue(t.Context(), r.Message(state.KindFinal, "0-f0", "secret words")); err != nil {
		t.Fatal(err)
	}
	r.drain()
	if unsent, err := r.Journal.Messages.Unsent(t.Context(), r.ID); err != nil || len(unsent) != 0 {
		t.Errorf("%d messages are still to be sent, %v", len(unsent), err)
	}
	instead, err := r.Journal.Messages.Get(t.Context(), "0-f0-s")
	if err != nil || !strings.Contains(instead.Body, "an internal error stops it") {
		t.Errorf("in its place: %s, %v", instead.Body, err)
	}
	if log := log.String(); strings.Contains(log, "secret words") || strings.Count(log, "panic while sending a message") != 2*maxPanics {
		t.Errorf("log: %s", log)
	}
}

// A message that the process before this one may have been sending waits until the homeserver must have it, and then for a
// sync. Later messages do not wait.
func TestMessageOnItsWay(t *testing.T) {
	var log strings.Builder
	r := newOutbox(t, &log)
	if err := r.Journal.Messages.Queue(t.Context(), r.Message(state.KindFinal, "0-f0", "done")); err != nil {
		t.Fatal(err)
	}
	if err := r.NoteUnderWay(t.Context()); err != nil {
		t.Fatal(err)
	}
	sent := make(chan struct{})
	go func() {
		r.drain()
		close(sent)
	}()
	for begun := time.Now(); ; {
		if took := time.Since(begun); took < orphanTime/2 || took > orphanTime*5/4 { // first a sync that is too early
			r.Synced.Open()
		}
		select {
		case <-sent:
			if log := log.String(); log != "" {
				t.Errorf("it was sent again: %s", log) // there is no homeserver
			}
			if err := r.Journal.Messages.Queue(t.Context(), r.Message(state.KindFinal, "1-f0", "done")); err != nil {
				t.Fatal(err)
			}
			soon, cancel := context.WithTimeout(t.Context(), orphanTime/4)
			defer cancel()
			if row, err := r.Journal.Messages.Next(t.Context(), r.ID); err != nil || (&Room{Shared: r.Shared}).awaitEcho(soon, row) {
				t.Errorf("a new message waits, or %v", err)
			}
			return
		case <-time.After(orphanTime / 8):
		}
		if time.Since(begun) > orphanTime*5/4 {
			if err := r.Journal.Messages.MarkSent(t.Context(), "0-f0", "$echo"); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Who waits for a message that cannot be sent is told so, once.
func TestSubstitute(t *testing.T) {
	refused := errors.New("refused")
	for _, c := range []struct {
		txn      string
		kind     state.Kind
		relation state.Relation
		err      error
		want     string
	}{
		{"0-f0", state.KindFinal, "", refused, "an answer, but the homeserver rejects it"},
		{"0-f0", state.KindFinal, "", &queue.PanicError{}, "an answer, but an internal error stops it"},
		{"0-q0", state.KindQuestion, "", refused, "a question, but the homeserver rejects it"},
		{"0-q0-1", state.KindQuestionPart, "", refused, "A part of my question is missing, because the homeserver rejects it"},
		{"0-q0-w", state.KindReminder, "", refused, "still waiting for an answer"},
		{"o0", state.KindFile, "", refused, "cannot send the file `owl.png`, because the homeserver rejects it"},
		{"0-g", state.KindGreeting, "", refused, "I am here"},
		{"0-code", state.KindPairing, "", refused, "about pairing, but the homeserver rejects it"},
		{"0-unread", state.KindUnread, "", refused, "missed messages here, and cannot say more, because the homeserver rejects it"},
		{"0-u0", state.KindUpdate, "", refused, "news about the update, but the homeserver rejects it"},
		{"0-t", state.KindArrival, "", refused, "received over HTTP"},
		{"0-p", state.KindLost, "", refused, "a reply to this, but the homeserver rejects it"},
		{"0-n-e", state.KindNoticeEdit, "", refused, ""},
		{"0-q0-r0", state.KindOption, state.Reaction, refused, ""},
		{"0-a", state.KindReply, "", refused, "a reply to this, but the homeserver rejects it"},
		{"0-a-s", state.KindReply, "", refused, ""},
		{"0-f0-s", state.KindTooLarge, "", refused, ""},
		{"0-n", state.KindNotice, "", refused, ""},
		{"0-eyes", state.KindReaction, state.Reaction, refused, ""},
	} {
		if _, said := substitute(state.Message{Txn: c.txn, Kind: c.kind, Relation: c.relation, Body: "owl.png"}, c.err); !strings.Contains(said, c.want) || (said == "") != (c.want == "") {
			t.Errorf("%s, %v: %q, want %q", c.txn, c.err, said, c.want)
		}
	}
}

// A message of ours that the homeserver has taken twice is removed once, and what is known stays: people have replied to it.
func TestSentTwice(t *testing.T) {
	r := newOutbox(t, &strings.Builder{})
	final, edit := r.Message(state.KindFinal, "0-f0", "done"), r.Message(state.KindNoticeEdit, "0-n-e", "done")
	if err := r.Journal.Messages.Queue(t.Context(), final, edit); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"$first", "$first", "$late", "$late"} {
		for _, txn := range []string{final.Txn, edit.Txn} {
			if err := r.Sent(t.Context(), txn, id+txn); err != nil {
				t.Fatal(err)
			}
		}
	}
	if row, err := r.Journal.Messages.Get(t.Context(), final.Txn); err != nil || row.Event != "$first0-f0" {
		t.Errorf("the message is %s, %v", row.Event, err)
	}
	unsent, err := r.Journal.Messages.Unsent(t.Context(), r.ID)
	if err != nil || len(unsent) != 1 || unsent[0].Relation != state.Redaction || unsent[0].Target != "$late0-f0" {
		t.Errorf("to be sent: %v, %v", unsent, err)
	}
}

// While an upgrade waits, a refused reaction does not stop the messages behind it, and a message that the bot may not send
// waits.
func TestRefusedWhileUpgradeWaits(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"events_default":50}`)
	}))
	defer server.Close()
	r := newOutbox(t, &strings.Builder{})
	var err error
	if r.Account, err = matrix.New(matrix.Config{Homeserver: server.URL, User: "@bot:here", Log: zerolog.Nop()}); err != nil {
		t.Fatal(err)
	}
	if r.waits(t.Context(), state.Message{}) {
		t.Error("a message waits although the room was not replaced")
	}
	empty := ""
	tombstone := state.Event{Status: state.Pending, Event: event.Event{ID: "$t", Room: r.ID, Type: event.TypeTombstone, StateKey: &empty}}
	if _, err := r.Journal.Events.Commit(t.Context(), "", []state.Event{tombstone}); err != nil {
		t.Fatal(err)
	}
	if r.waits(t.Context(), state.Message{Relation: state.Reaction}) || !r.waits(t.Context(), state.Message{}) {
		t.Error("the reaction waits, or the message does not")
	}
}

// unasked counts the questions that can never be shown.
type unasked int

func (*unasked) Look(context.Context, string) error { return nil }

func (u *unasked) CannotAsk(context.Context, string, int) error { *u++; return nil }

// Nobody can approve a command that was not shown, or not completely: its task ends. Other questions get a sentence in
// their place.
func TestRefusedApproval(t *testing.T) {
	for _, c := range []struct {
		kind state.Kind
		txn  string
		held string
		ends bool
	}{
		{state.KindQuestion, "0-q0", "rm -r shed", true},
		{state.KindQuestionPart, "0-q0-1", "rm -r shed", true},
		{state.KindQuestion, "0-q0", "", false},
		{state.KindReminder, "0-q0-w", "rm -r shed", false},
		{state.KindQuestion, "0-q0" + task.Instead, "", true},
	} {
		r, ended := newOutbox(t, &strings.Builder{}), new(unasked)
		r.questions = ended
		if _, err := r.Journal.Events.Commit(t.Context(), "", []state.Event{{Event: event.Event{Room: r.ID, ID: "$1"}, Status: state.Pending}}); err != nil {
			t.Fatal(err)
		}
		if err := r.Journal.Tasks.Enqueue(t.Context(), state.Task{Key: "0", Room: r.ID, Event: "$1", Execution: "x", HeldCommand: c.held}); err != nil {
			t.Fatal(err)
		}
		row := r.Message(c.kind, c.txn, "Which colour?")
		row.Task = "0"
		if err := r.Journal.Messages.Queue(t.Context(), row); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time as after a crash
			if err := r.rejected(t.Context(), row, errors.New("refused")); err != nil {
				t.Fatal(err)
			}
		}
		_, err := r.Journal.Messages.Get(t.Context(), row.Txn+task.Instead)
		if substituted := err == nil; substituted == c.ends || (*ended > 0) != c.ends {
			t.Errorf("%s, %q: ended %d times, in its place: %v", c.txn, c.held, *ended, err)
		}
	}
}
