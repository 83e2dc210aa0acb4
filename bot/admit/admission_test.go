package admit

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/timeline"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// An unencrypted message in an encrypted room is ignored.
func TestCleartextSaysNothing(t *testing.T) {
	e := decoded(t, `{"event_id":"$1","type":"m.room.message","sender":"@ann:here","content":{"msgtype":"m.text","body":"x"}}`)
	e.Encryption = event.Cleartext
	if k := judgedAs(e, func(event.Event) policy.Decision { return policy.Decision{Heard: true, Reply: true} }); k != event.KindContext {
		t.Errorf("it is a %s", k)
	}
}

// What people say who may not use the bot is not stored, nor what they have encrypted.
func TestTrim(t *testing.T) {
	a := newAdmission(t, "defaults: {allow: ['@bob:here']}")
	a.Roster.Direct.Take(map[string][]string{"@eve:here": {"!direct:here"}})
	text := func(sender string) string {
		return `{"event_id":"$1","type":"m.room.message","sender":"` + sender + `","content":{"msgtype":"m.text","body":"what I say","formatted_body":"what I say"}}`
	}
	for _, c := range []struct {
		name, room, raw string
		encryption      event.Encryption
		kept            bool
		status          state.Status
	}{
		{"an owner", den, text("@ann:here"), "", true, state.Pending},
		{"somebody allowed", den, text("@bob:here"), "", true, state.Pending},
		{"a stranger", den, text("@eve:here"), "", false, state.Archived},
		{"a stranger who gets a code", "!direct:here", text("@eve:here"), "", false, state.Pending},
		{"us", den, text("@bot:here"), "", true, state.Archived},
		{"a stranger's reaction", den, `{"event_id":"$1","type":"m.reaction","sender":"@eve:here","content":{"m.relates_to":{"rel_type":"m.annotation","event_id":"$0","key":"what I say"}}}`, "", false, state.Archived},
		{"a missing key", den, `{"event_id":"$1","type":"m.room.encrypted","sender":"@ann:here","content":{"algorithm":"m.megolm.v1.aes-sha2","session_id":"s","ciphertext":"what I say"}}`, event.MissingKey, true, state.Pending},
		{"a stranger's missing key", den, `{"event_id":"$1","type":"m.room.encrypted","sender":"@eve:here","content":{"algorithm":"m.megolm.v1.aes-sha2","session_id":"s","ciphertext":"what I say"}}`, event.MissingKey, false, state.Archived},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := decoded(t, c.raw)
			e.Room, e.Encryption = c.room, c.encryption
			row, _ := a.row(t.Context(), timeline.Event{Event: e, Fresh: true})
			if !row.Undecrypted() {
				row.Raw = nil // is not stored
			}
			stored, err := json.Marshal([]any{row.Body, row.Raw})
			if err != nil {
				t.Fatal(err)
			}
			if kept := strings.Contains(string(stored), "what I say"); kept != c.kept || row.Status != c.status {
				t.Errorf("kept: %v, status %d: %s", kept, row.Status, stored)
			}
			if row.Undecrypted() && row.Raw == nil {
				t.Error("the bot would try to decrypt nothing")
			}
		})
	}
}

// The journal keeps other people's edits, and ours only of what was not an edit.
func TestOwnEditsAreNotKept(t *testing.T) {
	a := newAdmission(t, "")
	edit := &event.Message{RelatesTo: event.Relation{RelType: "m.replace", EventID: "$1"}}
	for _, c := range []struct {
		sender string
		said   *event.Message
		kept   bool
	}{{self, edit, false}, {"@ann:here", edit, true}, {self, &event.Message{}, true}} {
		e := event.Event{ID: "$2", Room: den, Sender: c.sender, Type: event.TypeMessage, Body: event.Body{Message: c.said}}
		if _, kept := a.row(t.Context(), timeline.Event{Event: e, Fresh: true}); kept != c.kept {
			t.Errorf("%s, %+v: kept: %v", c.sender, c.said, kept)
		}
	}
}

// What panics for one room or event, in a batch or in a page, stops no other one.
func TestPanicOfSync(t *testing.T) {
	a := newAdmission(t, "")
	said := event.Event{Room: den, ID: "$3", Sender: "@ann:here", Type: event.TypeMessage}
	batch := &matrix.Sync{Since: "s0", Joined: map[string]matrix.Room{den: {
		Timeline: []event.Event{said}, Limited: true, PrevBatch: "p", Present: []string{"@ann:here"},
	}}}
	a.Timeline, a.Roster.Policy = nil, nil
	got, err := a.read(t.Context(), batch, "s0", nil, map[string]bool{den: true})
	if err != nil || len(got.Gaps) != 1 || len(got.Events) != 1 || !got.Events[0].Fresh || !got.Events[0].MustEncrypt {
		t.Errorf("read %+v, %v", got, err)
	}
	if rows, err := a.rows(t.Context(), got.Events); err != nil || len(rows) != 1 {
		t.Errorf("%d events are admitted, %v", len(rows), err)
	}
	a.Group.Open.Store(true)
	a.expect(batch)

	if _, err := a.Journal.Events.CommitBatch(t.Context(), state.Batch{Next: "s1", Gaps: []state.Gap{{Room: den, Token: "t"}}}); err != nil {
		t.Fatal(err)
	}
	soon, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	a.fill(soon, den)
	a.Journal = nil
	echo := event.Event{Room: den, ID: "$4", Sender: self, Transaction: "0-a"}
	joined := decoded(t, `{"event_id":"$5","type":"m.room.member","sender":"@ann:here","state_key":"@ann:here","content":{"membership":"join"}}`)
	joined.Room = den
	a.Roster.Policy = policy.Open(a.dir, zerolog.Nop())
	if _, err := a.rows(t.Context(), []timeline.Event{{Event: echo, Fresh: true}, {Event: joined, Fresh: true}}); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"reading a timeline", "reading an event", "trimming an event", "expecting a task", "filling a gap", "reading an echo",
		"comparing an event with the journal"} {
		if !strings.Contains(a.log.String(), "panic while "+want) {
			t.Errorf("no panic while %s: %s", want, a.log.String())
		}
	}
}

// A tombstone that the journal knows is none, for example after an initial sync. One that is not stored is forgotten.
func TestKnownTombstone(t *testing.T) {
	a := newAdmission(t, "")
	e := decoded(t, `{"event_id":"$1","type":"m.room.tombstone","state_key":"","sender":"@ann:here","content":{"replacement_room":"!house:here"}}`)
	e.Room = den
	page := []timeline.Event{{Event: e, Fresh: true}}
	rows, err := a.rows(t.Context(), page)
	if err != nil || len(rows) != 1 {
		t.Fatal(rows, err)
	}
	if !a.Upgrades.Moves(den) {
		t.Error("a new tombstone is not noted")
	}
	a.Upgrades.Drop(t.Context(), rows[0])
	if _, err := a.Journal.Events.Commit(t.Context(), "", rows); err != nil {
		t.Fatal(err)
	}
	if _, err := a.rows(t.Context(), page); err != nil {
		t.Fatal(err)
	}
	if a.Upgrades.Moves(den) {
		t.Error("the room moves again")
	}
}
