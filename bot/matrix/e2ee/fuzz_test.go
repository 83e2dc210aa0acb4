package e2ee

import (
	"encoding/json"
	"strings"
	"testing"

	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

	wire "matrix-tui/state/event"
)

func FuzzEvent(f *testing.F) {
	f.Add(`{"type":"m.room.encrypted","event_id":"$1","sender":"@a:x","content":{"algorithm":"m.megolm.v1.aes-sha2","ciphertext":"AwgA","session_id":"x"}}`, `{"body":"x"}`, "m.room.message")
	f.Add(`{"type":"m.room.encrypted","event_id":"$1","sender":"@a:x","content":{"ciphertext":{"a":{"type":0}}},"unsigned":{"prev_content":7}}`, `[]`, "m.room.encrypted")
	f.Add(`{"type":"m.key.verification.start","sender":"@a:x","content":{"m.relates_to":{}}}`, `null`, "io.matrix-tui.gone")
	f.Fuzz(func(t *testing.T, raw, content, kind string) {
		if e, c, err := parseEncrypted("!r:x", json.RawMessage(raw)); err == nil {
			if e.RoomID != "!r:x" || e.StateKey != nil || e.ID == "" || c.Algorithm != id.AlgorithmMegolmV1 {
				t.Errorf("taken for an encrypted message: %s", raw)
			}
		}
		if e, ok := parseToDevice(json.RawMessage(raw)); ok && (e.RoomID != "" || e.ID != "" || e.Sender == "") {
			t.Errorf("taken for a to-device event: %s", raw)
		}
		plain := &event.Event{Type: event.NewEventType(kind), Content: event.Content{VeryRaw: json.RawMessage(content)}}
		out, err := replace(json.RawMessage(raw), plain)
		if err != nil {
			return
		}
		if out.Content == nil || out.Type == "m.room.encrypted" || strings.HasPrefix(out.Type, wire.OwnTypes) {
			t.Errorf("%+v", out)
		}
	})
}

func FuzzEncryption(f *testing.F) {
	f.Add(`{"algorithm":"m.megolm.v1.aes-sha2","rotation_period_ms":"x"}`)
	f.Add(`7`)
	f.Fuzz(func(t *testing.T, raw string) {
		if encryption(json.RawMessage(raw)) == nil {
			t.Errorf("%s leaves the room in clear", raw)
		}
	})
}
