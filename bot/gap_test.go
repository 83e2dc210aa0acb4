package bot

import (
	"testing"

	"matrix-tui/bot/matrix"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

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

// What was sent before the bot's own join is not missing.
func TestIsLimited(t *testing.T) {
	d := newDeciding(t, "defaults: {}")
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
		if got := d.bot.isLimited(c.room); got != c.want {
			t.Errorf("%+v is limited: %v", c.room, got)
		}
	}
}
