package timeline

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/matrix/decode"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

const self = "@bot:here"

func decoded(t *testing.T, raw string) event.Event {
	t.Helper()
	e, err := decode.FromServer(json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestWhileJoined(t *testing.T) {
	say := func(n int) event.Event {
		return decoded(t, fmt.Sprintf(`{"event_id":"$%d","type":"m.room.message","sender":"@ann:here","content":{}}`, n))
	}
	own := func(now, before string) event.Event {
		return decoded(t, fmt.Sprintf(`{"event_id":"$%s-%s","type":"m.room.member","sender":"@ann:here","state_key":%q,"content":{"membership":%q},"unsigned":{"prev_content":{"membership":%q}}}`,
			before, now, self, now, before))
	}
	by := func(sender string, e event.Event) event.Event {
		e.Sender = sender
		return e
	}
	for _, c := range []struct {
		name   string
		events []event.Event
		want   []string
	}{
		{"in the room all the time", []event.Event{say(1), own("join", "join"), say(2)}, []string{"$1", "$join-join", "$2"}},
		{"joined", []event.Event{say(1), own("invite", ""), say(2), own("join", "invite"), say(3)}, []string{"$2", "$invite-join", "$3"}},
		{"joined without an invitation", []event.Event{say(1), own("join", ""), say(3)}, []string{"$-join", "$3"}},
		{"invited by somebody else", []event.Event{by("@bob:here", say(1)), own("invite", ""), by("@bob:here", say(2)), own("join", "invite")}, []string{"$invite-join"}},
		{"left and invited again", []event.Event{own("leave", "join"), say(1), own("invite", "leave"), say(2), own("join", "invite"), say(3)},
			[]string{"$join-leave", "$2", "$invite-join", "$3"}},
		{"left and came back", []event.Event{say(1), own("leave", "join"), say(2), own("join", "leave"), say(3)},
			[]string{"$1", "$join-leave", "$leave-join", "$3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, e := range whileJoined(matrix.Room{Timeline: c.events}, self) {
				got = append(got, e.ID)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestClearUntil(t *testing.T) {
	say := decoded(t, `{"event_id":"$1","type":"m.room.message","sender":"@ann:here","content":{}}`)
	on := decoded(t, `{"event_id":"$2","type":"m.room.encryption","sender":"@ann:here","state_key":"","content":{"algorithm":"m.megolm.v1.aes-sha2"}}`)
	for _, c := range []struct {
		name        string
		before, now bool
		events      []event.Event
		want        int
	}{
		{"never encrypted", false, false, []event.Event{say, say}, 2},
		{"encrypted before", true, true, []event.Event{say, say}, 0},
		{"turned on in between", false, true, []event.Event{say, on, say}, 1},
		{"turned on before the first", false, true, []event.Event{say}, 0},
		{"turned on once more", true, true, []event.Event{say, on}, 0},
	} {
		if got := clearUntil(c.before, c.now, c.events); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestGapEncrypted(t *testing.T) {
	say := decoded(t, `{"event_id":"$1","type":"m.room.message","sender":"@ann:here","content":{}}`)
	on := decoded(t, `{"event_id":"$2","type":"m.room.encryption","sender":"@ann:here","state_key":"","content":{"algorithm":"m.megolm.v1.aes-sha2"}}`)
	for _, c := range []struct {
		name        string
		before, now bool
		timeline    []event.Event
		want        state.Encrypted
	}{
		{"never encrypted", false, false, []event.Event{say}, state.EncryptedNever},
		{"encrypted before", true, true, []event.Event{say, on}, state.EncryptedAll},
		{"turned on after the gap", false, true, []event.Event{on, say}, state.EncryptedNever},
		{"turned on in the gap", false, true, []event.Event{say}, state.EncryptedLater},
	} {
		if got := gapEncrypted(c.before, c.now, c.timeline); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A homeserver may report the bot's own join as part of the state. It is part of the timeline, and what was said before
// it is not acted on, unless the inviter has said it.
func TestJoinInState(t *testing.T) {
	at := func(id, kind, sender, more string, second int) event.Event {
		return decoded(t, fmt.Sprintf(`{"event_id":%q,"type":%q,"sender":%q,"origin_server_ts":%d%s}`, id, kind, sender, second*1000, more))
	}
	say := func(id, sender string, second int) event.Event {
		return at(id, "m.room.message", sender, `,"content":{}`, second)
	}
	invite := at("$invite", "m.room.member", "@ann:here", `,"state_key":"@bot:here","content":{"membership":"invite"}`, 2)
	join := at("$join", "m.room.member", self, `,"state_key":"@bot:here","content":{"membership":"join"},"unsigned":{"prev_content":{"membership":"invite"}}`, 4)
	before, first, later := say("$before", "@eve:here", 1), say("$first", "@ann:here", 3), say("$later", "@eve:here", 5)
	for name, c := range map[string]struct {
		since string
		room  matrix.Room
		want  string
		gap   bool
	}{
		"before all of it":       {"t", matrix.Room{State: []event.Event{join}, Timeline: []event.Event{later}}, "$join $later", false},
		"in it":                  {"t", matrix.Room{State: []event.Event{invite, join}, Timeline: []event.Event{before, first, later}}, "$first $join $later", false},
		"in it, with a token":    {"t", matrix.Room{State: []event.Event{join}, Timeline: []event.Event{before, later}, Limited: true, PrevBatch: "p"}, "$join $later", false},
		"after it":               {"t", matrix.Room{State: []event.Event{join}, Timeline: []event.Event{before}}, "$join", false},
		"in the gap":             {"t", matrix.Room{State: []event.Event{join}, Timeline: []event.Event{later}, Limited: true, PrevBatch: "p"}, "$later", true},
		"reported twice":         {"t", matrix.Room{State: []event.Event{join}, Timeline: []event.Event{before, join, later}}, "$join $later", false},
		"long ago, initial sync": {"", matrix.Room{State: []event.Event{join}, Timeline: []event.Event{later}}, "$later", false},
	} {
		journal, err := state.OpenJournal(t.Context(), filepath.Join(t.TempDir(), "journal.db"), zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		account, err := matrix.New(matrix.Config{Homeserver: "http://127.0.0.1:1", User: self, Log: zerolog.Nop()})
		if err != nil {
			t.Fatal(err)
		}
		batch := &matrix.Sync{Since: c.since, Joined: map[string]matrix.Room{"!den:here": c.room}}
		got, err := New(journal, account).Read(t.Context(), batch, "!den:here", c.since, false, false)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, e := range got.Events {
			ids = append(ids, e.ID)
		}
		if all := strings.Join(ids, " "); all != c.want || (len(got.Gaps) > 0) != c.gap {
			t.Errorf("%s: %s, gaps %+v", name, all, got.Gaps)
		}
		if err := journal.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What was sent before the bot's own join is not missing.
func TestIsLimited(t *testing.T) {
	join := decoded(t, `{"event_id":"$1","type":"m.room.member","sender":"@bot:here","state_key":"@bot:here","content":{"membership":"join"},"unsigned":{"prev_content":{"membership":"invite"}}}`)
	for _, c := range []struct {
		room matrix.Room
		want bool
	}{
		{matrix.Room{Limited: true, PrevBatch: "p"}, true},
		{matrix.Room{Limited: true}, false},
		{matrix.Room{PrevBatch: "p"}, false},
		{matrix.Room{Limited: true, PrevBatch: "p", Timeline: []event.Event{join}}, false},
	} {
		if got := isLimited(c.room, self); got != c.want {
			t.Errorf("%+v is limited: %v", c.room, got)
		}
	}
}

// An initial sync continues from what is known of each room. Only where nothing is known,
// and there was no token, its events are context. Unread comes to the same.
func TestRead(t *testing.T) {
	now := time.Now()
	say := func(id string, at time.Time) event.Event {
		e := decoded(t, fmt.Sprintf(`{"event_id":%q,"type":"m.room.message","sender":"@ann:here","origin_server_ts":%d,"content":{}}`, id, at.UnixMilli()))
		e.Room = "!den:here"
		return e
	}
	known, old, fresh := say("$known", now), say("$old", now.Add(-2*clockSlack)), say("$new", now)
	for _, c := range []struct {
		name        string
		known       bool
		since, last string
		timeline    []event.Event
		gap         bool
		fresh       []bool
	}{
		{"the first sync ever", false, "", "", []event.Event{fresh}, false, []bool{false}},
		{"the next one", false, "t", "t", []event.Event{old, fresh}, true, []bool{true, true}},
		{"starting over", true, "", "t", []event.Event{old, fresh}, true, []bool{false, true}},
		{"starting over, back to a known event", true, "", "t", []event.Event{known, fresh}, false, []bool{true, true}},
		{"starting over in a room that is new", false, "", "t", []event.Event{old, fresh}, true, []bool{true, true}},
		{"without a token, but with events", true, "", "", []event.Event{fresh}, true, []bool{true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			journal, err := state.OpenJournal(t.Context(), filepath.Join(t.TempDir(), "journal.db"), zerolog.Nop())
			if err != nil {
				t.Fatal(err)
			}
			defer journal.Close()
			if c.known {
				if _, err := journal.Events.Commit(t.Context(), c.last, []state.Event{{Event: known}}); err != nil {
					t.Fatal(err)
				}
			}
			account, err := matrix.New(matrix.Config{Homeserver: "http://127.0.0.1:1", User: self, Log: zerolog.Nop()})
			if err != nil {
				t.Fatal(err)
			}
			batch := &matrix.Sync{Since: c.since, Joined: map[string]matrix.Room{"!den:here": {Timeline: c.timeline, Limited: true, PrevBatch: "p"}}}
			got, err := New(journal, account).Read(t.Context(), batch, "!den:here", c.last, false, false)
			if err != nil {
				t.Fatal(err)
			}
			unread, err := New(journal, account).Unread(t.Context(), batch, "!den:here", c.last, false)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got.Events, unread.Events); diff != "" {
				t.Errorf("unread (-read +unread):\n%s", diff)
			}
			if c.gap && !cmp.Equal(got.Gaps, unread.Gaps) {
				t.Errorf("gaps of the unread: %+v", unread.Gaps)
			}
			if gap := len(got.Gaps) == 1; gap != c.gap {
				t.Errorf("gaps: %+v", got.Gaps)
			}
			for _, g := range got.Gaps {
				if g.Since.IsZero() != (c.since != "") {
					t.Errorf("the gap counts from %v", g.Since)
				}
			}
			for i, want := range c.fresh {
				if got.Events[i].Fresh != want {
					t.Errorf("%s is fresh: %v", got.Events[i].ID, !want)
				}
			}
		})
	}
}
