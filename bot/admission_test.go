package bot

import (
	"encoding/json"
	"testing"

	"github.com/rs/zerolog"

	"matrix-tui/bot/matrix"
	"matrix-tui/state"
)

// newDoor is a bot that decodes events and does nothing else.
func newDoor(t *testing.T) *Bot {
	t.Helper()
	account, err := matrix.New(matrix.Config{Homeserver: "http://127.0.0.1:1", User: self, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	return &Bot{account: account, count: newCounters(), log: zerolog.Nop()}
}

// What the inviter's server chose to send says nothing about who invites: the
// homeserver's own event does, which stands last.
func TestForgedStrippedState(t *testing.T) {
	b := newDoor(t)
	forged := json.RawMessage(`{"type":"m.room.member","sender":"@owner:y","state_key":"@bot:here","content":{"membership":"invite","is_direct":true}}`)
	invite := json.RawMessage(`{"event_id":"$1","type":"m.room.member","sender":"@mallory:x","state_key":"@bot:here","content":{"membership":"invite"}}`)
	rows := b.inviteRow("!den", "s1", []json.RawMessage{forged, invite})
	if len(rows) != 1 || rows[0].Sender != "@mallory:x" {
		t.Fatalf("rows %+v", rows)
	}
	if e, ok := parseEvent(rows[0].Raw); !ok || e.InvitesDirectly() {
		t.Errorf("the forged event decides that the room is direct: %s", rows[0].Raw)
	}
	for name, stripped := range map[string][]json.RawMessage{
		"nothing":           nil,
		"not last":          {invite, json.RawMessage(`{"type":"m.room.name","sender":"@mallory:x","state_key":"","content":{"name":"x"}}`)},
		"two senders":       {json.RawMessage(`{"type":"m.room.member","sender":"@mallory:x","ſender":"@owner:y","state_key":"@bot:here","content":{"membership":"invite"}}`)},
		"of somebody else":  {json.RawMessage(`{"type":"m.room.member","sender":"@mallory:x","state_key":"@ann:here","content":{"membership":"invite"}}`)},
		"no invite":         {json.RawMessage(`{"type":"m.room.member","sender":"@mallory:x","state_key":"@bot:here","content":{"membership":"join"}}`)},
		"not a state event": {json.RawMessage(`{"type":"m.room.member","sender":"@mallory:x","content":{"membership":"invite"}}`)},
	} {
		if rows := b.inviteRow("!den", "s1", stripped); len(rows) != 0 {
			t.Errorf("%s: %+v", name, rows)
		}
	}
}

func TestForgedSenderIsRejected(t *testing.T) {
	b := newDoor(t)
	for _, raw := range []string{
		`{"event_id":"$1","type":"m.room.message","sender":"@mallory:x","ſender":"@owner:y","content":{"msgtype":"m.text","body":"x"}}`,
		`{"event_id":"$1","type":"m.room.message","sender":"@mallory:x","Sender":"@bot:here","content":{"msgtype":"m.text","body":"x","io.matrix-tui.txn":"a-f0"}}`,
		`{"event_id":"$1","type":"m.room.member","sender":"@mallory:x","state_key":"@mallory:x","ſtate_key":"@bot:here","content":{"membership":"leave"}}`,
	} {
		if e, ok := b.fromServer("!den", json.RawMessage(raw)); ok {
			t.Errorf("%s is let in: %+v", raw, e)
		}
	}
}

func TestClearUntil(t *testing.T) {
	say := json.RawMessage(`{"event_id":"$1","type":"m.room.message","sender":"@ann:here","content":{}}`)
	on := json.RawMessage(`{"event_id":"$2","type":"m.room.encryption","sender":"@ann:here","state_key":"","content":{"algorithm":"m.megolm.v1.aes-sha2"}}`)
	for _, c := range []struct {
		name        string
		before, now bool
		events      []json.RawMessage
		want        int
	}{
		{"never encrypted", false, false, []json.RawMessage{say, say}, 2},
		{"encrypted before", true, true, []json.RawMessage{say, say}, 0},
		{"turned on in between", false, true, []json.RawMessage{say, on, say}, 1},
		{"turned on before the first", false, true, []json.RawMessage{say}, 0},
		{"turned on once more", true, true, []json.RawMessage{say, on}, 0},
	} {
		if got := clearUntil(c.before, c.now, c.events); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestCleartextIsArchived(t *testing.T) {
	raw := json.RawMessage(`{"event_id":"$1","type":"m.room.message","sender":"@ann:here","content":{"msgtype":"m.text","body":"x"}}`)
	row := asCleartext(state.Inbound{Type: "m.room.message", Status: state.Pending, Raw: raw})
	e, ok := parseEvent(row.Raw)
	if !ok || row.Status != state.Archived || row.Type != typeCleartext {
		t.Errorf("%+v", row)
	}
	if k := classify(e, self, func(wireEvent) hearing { return hearing{heard: true, reply: true} }); k != kindArchive {
		t.Errorf("it is %d to the bot", k)
	}
	if _, ok := saidIn(row); ok {
		t.Error("it can be quoted")
	}
}
