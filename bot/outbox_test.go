package bot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot/queue"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// What an earlier life of the bot has answered is not handled again.
func TestAnsweredBefore(t *testing.T) {
	d := newDeciding(t, "defaults: {}")
	in := &admission{bot: d.bot}
	for i, end := range []string{"-f0", "-a", "-q0", "-n", ""} {
		id := fmt.Sprint("$", i)
		in.rows = append(in.rows, state.Event{Event: event.Event{Room: d.id, ID: id}, Status: state.Pending})
		if end != "" {
			in.echoes = append(in.echoes, event.Event{Room: d.id, ID: id + "-echo", Transaction: state.KeyOf(d.id, id) + end})
		}
	}
	in.echoes = append(in.echoes, event.Event{Room: d.id, ID: "$edit"}) // without a transaction
	if err := in.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, want := range []state.Status{state.Archived, state.Archived, state.Pending, state.Pending, state.Pending} {
		if in.rows[i].Status != want {
			t.Errorf("%s has status %d, want %d", in.rows[i].ID, in.rows[i].Status, want)
		}
	}
	later := &admission{bot: d.bot, rows: []state.Event{{Event: event.Event{Room: d.id, ID: "$0"}, Status: state.Pending}}}
	if err := later.settle(t.Context()); err != nil || later.rows[0].Status != state.Archived {
		t.Errorf("on a later page it has status %d, %v", later.rows[0].Status, err)
	}
}

// A message that the process before this one may have been sending waits until the homeserver must have it, and then for a
// sync. Later messages do not wait.
func TestInheritedMessage(t *testing.T) {
	d := newDeciding(t, everything)
	var log strings.Builder
	d.bot.log = zerolog.New(&log)
	d.bot.work.Log = d.bot.log
	if err := d.bot.Journal.Messages.Queue(t.Context(), d.out(state.KindFinal, "0-f0", "done")); err != nil {
		t.Fatal(err)
	}
	if err := d.bot.noteInherited(t.Context()); err != nil {
		t.Fatal(err)
	}
	sent := make(chan struct{})
	go func() {
		d.outbox.drain()
		close(sent)
	}()
	for begun := time.Now(); ; {
		if took := time.Since(begun); took < orphanTime/2 || took > orphanTime*5/4 { // first a sync that is too early
			d.bot.synced.Open()
		}
		select {
		case <-sent:
			if log := log.String(); log != "" {
				t.Errorf("it was sent again: %s", log) // there is no homeserver
			}
			if err := d.bot.Journal.Messages.Queue(t.Context(), d.out(state.KindFinal, "1-f0", "done")); err != nil {
				t.Fatal(err)
			}
			soon, cancel := context.WithTimeout(t.Context(), orphanTime/4)
			defer cancel()
			if row, err := d.bot.Journal.Messages.Next(t.Context(), d.id); err != nil || (&outbox{room: d.room}).awaitInherited(soon, row) {
				t.Errorf("a new message waits, or %v", err)
			}
			return
		case <-time.After(orphanTime / 8):
		}
		if time.Since(begun) > orphanTime*5/4 {
			if err := d.bot.Journal.Messages.MarkSent(t.Context(), "0-f0", "$echo"); err != nil {
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
		{"0-alert", state.KindAlert, "", refused, "an alert for my owners, but the homeserver rejects it"},
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
