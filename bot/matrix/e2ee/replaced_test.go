package e2ee

import (
	"encoding/json"
	"testing"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/crypto/signatures"
	"maunium.net/go/mautrix/id"
)

// A homeserver withdraws a device and lists one of its own under the same ID.
func TestDeviceIsNotReplaced(t *testing.T) {
	for name, keys := range map[string]func(*Config){"signed": func(*Config) {}, "first seen": plain} {
		t.Run(name, func(t *testing.T) {
			alice, bot := enter(t, "alice", keys), enter(t, "bot", firstSeen)
			room := alice.room(bot)
			bot.reads(room, alice.say(room, "hello"))
			mallory := enter(t, "mallory")
			account := mallory.m.mach.GetAccount()
			theirs := mautrix.DeviceKeys{
				UserID: alice.cli.UserID, DeviceID: alice.cli.DeviceID, Algorithms: []id.Algorithm{id.AlgorithmMegolmV1, id.AlgorithmOlmV1},
				Keys: mautrix.KeyMap{
					id.NewDeviceKeyID(id.KeyAlgorithmCurve25519, alice.cli.DeviceID): account.IdentityKey().String(),
					id.NewDeviceKeyID(id.KeyAlgorithmEd25519, alice.cli.DeviceID):    account.SigningKey().String(),
				},
			}
			signature, err := account.SignJSON(theirs)
			if err != nil {
				t.Fatal(err)
			}
			theirs.Signatures = signatures.NewSingleSignature(alice.cli.UserID, id.KeyAlgorithmEd25519, alice.cli.DeviceID.String(), signature)
			for _, list := range []map[id.DeviceID]mautrix.DeviceKeys{{}, {alice.cli.DeviceID: theirs}} {
				raw, err := json.Marshal(map[string]any{"device_keys": map[id.UserID]any{alice.cli.UserID: list}})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := bot.m.stored([]id.UserID{alice.cli.UserID}, raw, bot.changes(alice)); err != nil {
					t.Fatal(err)
				}
			}
			device, err := bot.m.store.FindDeviceByKey(t.Context(), alice.cli.UserID, account.IdentityKey())
			if err != nil || device == nil {
				t.Fatalf("the device is not listed: %v", err)
			}
			if trusted, err := bot.m.trusts(t.Context(), device); trusted || err != nil || device.SigningKey != account.SigningKey() {
				t.Errorf("the device of somebody else is %+v, trusted %v, %v", device, trusted, err)
			}
		})
	}
}

// changes counts how often a user's devices have changed.
func (p *peer) changes(of *peer) int {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	return p.m.changesOf([]id.UserID{of.cli.UserID})
}
