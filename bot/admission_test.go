package bot

import (
	"testing"

	"matrix-tui/bot/policy"
	"matrix-tui/state/event"
)

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

// An unencrypted message in an encrypted room is ignored and cannot be quoted.
func TestCleartextSaysNothing(t *testing.T) {
	e := decoded(t, `{"event_id":"$1","type":"m.room.message","sender":"@ann:here","content":{"msgtype":"m.text","body":"x"}}`)
	e.Encryption = event.Cleartext
	if k := classify(e, self, func(event.Event) policy.Decision { return policy.Decision{Heard: true, Reply: true} }); k != kindArchive {
		t.Errorf("it is classified as %d", k)
	}
	if _, ok := saidIn(e); ok {
		t.Error("it can be quoted")
	}
}
