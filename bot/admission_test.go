package bot

import (
	"testing"

	"matrix-tui/bot/policy"
	"matrix-tui/state/event"
)

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
