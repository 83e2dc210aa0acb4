package matrix

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/rs/zerolog"

	"matrix-tui/bot/matrix/decode"
)

const self = "@bot:here"

// The state that the inviter's server sent does not say who invites. The homeserver's own
// event, which is last, does.
func TestForgedStrippedState(t *testing.T) {
	forged := json.RawMessage(`{"type":"m.room.member","sender":"@owner:y","state_key":"@bot:here","content":{"membership":"invite","is_direct":true}}`)
	invite := json.RawMessage(`{"event_id":"$1","type":"m.room.member","sender":"@mallory:x","state_key":"@bot:here","content":{"membership":"invite"}}`)
	e, err := invitation([]json.RawMessage{forged, invite}, self)
	if err != nil || e.Sender != "@mallory:x" || e.InvitesDirectly() {
		t.Fatalf("%+v, %v", e, err)
	}
	for name, stripped := range map[string][]json.RawMessage{
		"nothing":           nil,
		"not last":          {invite, json.RawMessage(`{"type":"m.room.name","sender":"@mallory:x","state_key":"","content":{"name":"x"}}`)},
		"two senders":       {json.RawMessage(`{"type":"m.room.member","sender":"@mallory:x","ſender":"@owner:y","state_key":"@bot:here","content":{"membership":"invite"}}`)},
		"of somebody else":  {json.RawMessage(`{"type":"m.room.member","sender":"@mallory:x","state_key":"@ann:here","content":{"membership":"invite"}}`)},
		"no invite":         {json.RawMessage(`{"type":"m.room.member","sender":"@mallory:x","state_key":"@bot:here","content":{"membership":"join"}}`)},
		"not a state event": {json.RawMessage(`{"type":"m.room.member","sender":"@mallory:x","content":{"membership":"invite"}}`)},
	} {
		if e, err := invitation(stripped, self); !errors.Is(err, decode.ErrMalformed) {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}

// A batch contains the valid events, and the others are counted.
func TestSyncRejects(t *testing.T) {
	rejected := 0
	a, err := New(Config{Homeserver: "http://127.0.0.1:1", User: self, Rejected: func() { rejected++ }, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	var answer syncAnswer
	err = json.Unmarshal([]byte(`{"next_batch":"s1","rooms":{"invite":{"!lair":{"invite_state":{"events":[]}}},"join":{"!den":{"timeline":{"events":[
		{"event_id":"$1","type":"m.room.message","sender":"@ann:here","content":{"msgtype":"m.text","body":"x"}},
		{"event_id":"$2","type":"m.room.message","sender":"@mallory:x","ſender":"@owner:y","content":{"msgtype":"m.text","body":"x"}},
		{"event_id":"$3","type":"m.room.message","sender":"@mallory:x","Sender":"@bot:here","content":{"msgtype":"m.text","body":"x","io.matrix-tui.txn":"a-f0"}},
		{"event_id":"$4","type":"m.room.member","sender":"@mallory:x","state_key":"@mallory:x","ſtate_key":"@bot:here","content":{"membership":"leave"}},
		{"type":"m.room.message","sender":"@ann:here","content":{"msgtype":"m.text","body":"no ID"}}
	]}}}}}`), &answer)
	if err != nil {
		t.Fatal(err)
	}
	batch := a.decode("s0", &answer)
	if got := batch.Joined["!den"].Timeline; len(got) != 1 || got[0].ID != "$1" || rejected != 5 || len(batch.Invited) != 0 {
		t.Errorf("%d events, %d rejected, %d invitations", len(got), rejected, len(batch.Invited))
	}
}
