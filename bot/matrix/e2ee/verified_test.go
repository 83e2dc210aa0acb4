package e2ee

import (
	"encoding/json"
	"testing"

	wire "matrix-tui/state/event"
)

// A message says whether its sender's identity has signed the device, whichever devices the rule
// trusts; and whether a user has an identity.
func TestVerified(t *testing.T) {
	alice, bob := enter(t, "alice"), enter(t, "bob", plain)
	bot, lax := enter(t, "bot", firstSeen), enter(t, "bot", func(c *Config) { c.Devices = AllDevices })
	room := alice.room(bob, bot, lax)
	has := func(p, of *peer) bool {
		yes, err := p.m.HasIdentity(t.Context(), []string{"@nobody:here", of.cli.UserID.String()})
		if err != nil {
			t.Fatal(err)
		}
		return yes
	}
	if has(bot, alice) {
		t.Error("knows the identity of somebody whom it has not met")
	}
	for _, p := range []*peer{bot, lax} {
		for from, want := range map[*peer]wire.Encryption{alice: wire.Verified, bob: wire.Decrypted} {
			if got := p.plain(room, from.say(room, "hello")).Encryption; got != want {
				t.Errorf("%s is %q, want %q", from.cli.UserID, got, want)
			}
		}
		if !has(p, alice) || has(p, bob) {
			t.Error("does not know who has an identity")
		}
	}
	phone := alice.unsigned()
	lax.knows(alice)
	if got := lax.plain(room, phone.say(room, "obey")).Encryption; got != wire.Decrypted {
		t.Errorf("a device that is not signed is %q", got)
	}
	bot.cli.DeviceID = "" // a login without a device
	bot.restart()
	if !has(bot, alice) {
		t.Error("forgets who has an identity")
	}
}

// A relation outside the ciphertext counts only if there is none inside.
func TestRelations(t *testing.T) {
	alice, bot := enter(t, "alice"), enter(t, "bot")
	room := alice.room(bot)
	reply := func(to string) json.RawMessage { return json.RawMessage(`{"m.in_reply_to":{"event_id":"` + to + `"}}`) }
	for name, c := range map[string]struct{ inside, outside, want string }{
		"nowhere": {"", "", ""}, "inside": {"$in", "", "$in"}, "outside": {"", "$out", "$out"}, "both": {"$in", "$out", "$in"},
	} {
		content := map[string]any{"msgtype": "m.text", "body": "ok"}
		if c.inside != "" {
			content["m.relates_to"] = reply(c.inside)
		}
		data, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		kind, encrypted, err := alice.m.Encrypt(t.Context(), room, "m.room.message", data)
		if err != nil {
			t.Fatal(err)
		}
		var sent map[string]json.RawMessage
		if err := json.Unmarshal(encrypted, &sent); err != nil {
			t.Fatal(err)
		}
		delete(sent, "m.relates_to")
		if c.outside != "" {
			sent["m.relates_to"] = reply(c.outside)
		}
		if encrypted, err = json.Marshal(sent); err != nil {
			t.Fatal(err)
		}
		if got := bot.plain(room, alice.put(room, kind, encrypted)).Relation().ReplyTo(); got != c.want {
			t.Errorf("%s: replies to %q, want %q", name, got, c.want)
		}
	}
}
