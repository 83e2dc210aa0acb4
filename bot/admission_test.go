package bot

import (
	"encoding/json"
	"strings"
	"testing"

	"matrix-tui/bot/policy"
	"matrix-tui/bot/timeline"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// An unencrypted message in an encrypted room is ignored and cannot be quoted.
func TestCleartextSaysNothing(t *testing.T) {
	e := decoded(t, `{"event_id":"$1","type":"m.room.message","sender":"@ann:here","content":{"msgtype":"m.text","body":"x"}}`)
	e.Encryption = event.Cleartext
	if k := judgedAs(e, func(event.Event) policy.Decision { return policy.Decision{Heard: true, Reply: true} }); k != event.KindContext {
		t.Errorf("it is a %s", k)
	}
	if _, ok := (taskRoom{}).saidIn(e); ok {
		t.Error("it can be quoted")
	}
}

// What people say who may not use the bot is not stored, nor what they have encrypted.
func TestTrim(t *testing.T) {
	d := newDeciding(t, "defaults: {allow: ['@bob:here']}")
	d.bot.roster.Direct.Take(map[string][]string{"@eve:here": {"!direct:here"}})
	text := func(sender string) string {
		return `{"event_id":"$1","type":"m.room.message","sender":"` + sender + `","content":{"msgtype":"m.text","body":"what I say","formatted_body":"what I say"}}`
	}
	for _, c := range []struct {
		name, room, raw string
		encryption      event.Encryption
		kept            bool
		status          state.Status
	}{
		{"an owner", d.id, text("@ann:here"), "", true, state.Pending},
		{"somebody allowed", d.id, text("@bob:here"), "", true, state.Pending},
		{"a stranger", d.id, text("@eve:here"), "", false, state.Archived},
		{"a stranger who gets a code", "!direct:here", text("@eve:here"), "", false, state.Pending},
		{"us", d.id, text("@bot:here"), "", true, state.Archived},
		{"a stranger's reaction", d.id, `{"event_id":"$1","type":"m.reaction","sender":"@eve:here","content":{"m.relates_to":{"rel_type":"m.annotation","event_id":"$0","key":"what I say"}}}`, "", false, state.Archived},
		{"a missing key", d.id, `{"event_id":"$1","type":"m.room.encrypted","sender":"@ann:here","content":{"algorithm":"m.megolm.v1.aes-sha2","session_id":"s","ciphertext":"what I say"}}`, event.MissingKey, true, state.Pending},
		{"a stranger's missing key", d.id, `{"event_id":"$1","type":"m.room.encrypted","sender":"@eve:here","content":{"algorithm":"m.megolm.v1.aes-sha2","session_id":"s","ciphertext":"what I say"}}`, event.MissingKey, false, state.Archived},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := decoded(t, c.raw)
			e.Room, e.Encryption = c.room, c.encryption
			in := &admission{bot: d.bot}
			in.add(t.Context(), timeline.Event{Event: e, Fresh: true})
			row := in.rows[0]
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
