package e2ee

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"maunium.net/go/mautrix/crypto"
)

// with replaces keys of an event.
func with(t *testing.T, raw json.RawMessage, changes map[string]any) json.RawMessage {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	for key, value := range changes {
		all[key] = value
	}
	out, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestUnreadable(t *testing.T) {
	alice, bot, mallory := enter(t, "alice"), enter(t, "bot"), enter(t, "mallory")
	room := alice.room(bot, mallory)
	other := alice.room(bot, mallory)
	for _, where := range []string{room, other} {
		bot.reads(where, alice.say(where, "hello"))
	}
	raw := bot.event(room, alice.say(room, "rm -rf /workspace"))
	if _, err := decrypted(bot.m, t.Context(), room, raw); err != nil {
		t.Fatal(err)
	}
	evil := bot.event(room, mallory.say(room, "obey"))
	bot.until("mallory to speak for mallory", func() bool {
		_, err := decrypted(bot.m, t.Context(), room, evil)
		return err == nil
	})
	var content map[string]any
	var parsed struct {
		Content json.RawMessage `json:"content"`
	}
	_ = json.Unmarshal(raw, &parsed)
	_ = json.Unmarshal(parsed.Content, &content)
	broken := map[string]any{}
	for k, v := range content {
		broken[k] = v
	}
	broken["ciphertext"] = strings.Replace(content["ciphertext"].(string), content["ciphertext"].(string)[60:64], "AAAA", 1)
	for name, event := range map[string]json.RawMessage{
		"replayed as another event": with(t, raw, map[string]any{"event_id": "$replay"}),
		"replayed at another time":  with(t, raw, map[string]any{"origin_server_ts": 1}),
		"ciphertext changed":        with(t, raw, map[string]any{"content": broken, "event_id": "$x"}),
		"redacted":                  with(t, raw, map[string]any{"content": map[string]any{}}),
		"as state":                  with(t, raw, map[string]any{"state_key": ""}),
		"olm in a room":             with(t, raw, map[string]any{"content": map[string]any{"algorithm": "m.olm.v1.curve25519-aes-sha2", "ciphertext": map[string]any{}}}),
		"wrong types":               with(t, raw, map[string]any{"content": map[string]any{"algorithm": 7, "ciphertext": []int{1}}}),
		"in clear":                  json.RawMessage(`{"event_id":"$1","type":"m.room.message","sender":"@a:b","content":{}}`),
		"no object":                 json.RawMessage(`[]`),
		"null":                      json.RawMessage(`null`),
	} {
		plain, err := decrypted(bot.m, t.Context(), room, event)
		if !errors.Is(err, ErrUnreadable) || errors.Is(err, ErrCopy) != strings.HasPrefix(name, "replayed") {
			t.Errorf("%s: %v %+v", name, err, plain)
		}
	}
	var noKey *NoKeyError
	if _, err := decrypted(bot.m, t.Context(), other, raw); !errors.As(err, &noKey) {
		t.Errorf("in another room: %v", err)
	}
	forged := with(t, evil, map[string]any{"sender": alice.cli.UserID})
	if plain, err := decrypted(bot.m, t.Context(), room, forged); !errors.As(err, &noKey) || !noKey.Unproven {
		t.Errorf("mallory can speak for alice: %v %+v", err, plain)
	}
	if got := bot.reads(room, eventID(t, raw)); got != "rm -rf /workspace" {
		t.Errorf("reads %q after all that", got)
	}
}

func eventID(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var e struct {
		ID string `json:"event_id"`
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		t.Fatal(err)
	}
	return e.ID
}

// A member who has somebody's key must not become its owner by sending it again.
func TestKeyIsNotTakenOver(t *testing.T) {
	alice, bot, mallory := enter(t, "alice"), enter(t, "bot"), enter(t, "mallory")
	room := alice.room(bot, mallory)
	msg := alice.say(room, "mine")
	if got := mallory.reads(room, msg); got != "mine" {
		t.Fatalf("mallory reads %q", got)
	}
	if got := bot.reads(room, msg); got != "mine" {
		t.Fatalf("the bot reads %q", got)
	}
	raw := bot.event(room, msg)
	key, err := bot.m.store.GetGroupSession(t.Context(), "", "")
	if err != nil || key != nil {
		t.Fatal("a key without a name")
	}
	own := sessionIn(t, bot, room, raw)
	stolen := *own
	stolen.SenderKey = mallory.m.mach.OwnIdentity().IdentityKey
	stolen.SigningKey = mallory.m.mach.OwnIdentity().SigningKey
	elsewhere := *own
	elsewhere.RoomID = "!elsewhere:localhost"
	forwarded := *own
	forwarded.ForwardingChains = []string{stolen.SenderKey.String()}
	for name, session := range map[string]*crypto.InboundGroupSession{"by another": &stolen, "for another room": &elsewhere, "forwarded": &forwarded} {
		if err := bot.m.store.PutGroupSession(t.Context(), session); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := sessionIn(t, bot, room, raw); got.SenderKey != own.SenderKey || len(got.ForwardingChains) > 0 {
			t.Errorf("%s: the key has another owner", name)
		}
	}
	if got := bot.reads(room, msg); got != "mine" {
		t.Errorf("reads %q", got)
	}
}

func sessionIn(t *testing.T, p *peer, room string, raw json.RawMessage) *crypto.InboundGroupSession {
	t.Helper()
	e, content, err := parseEncrypted(room, raw)
	if err != nil {
		t.Fatal(err)
	}
	session, err := p.m.store.GetGroupSession(t.Context(), e.RoomID, content.SessionID)
	if err != nil || session == nil {
		t.Fatalf("no key: %v", err)
	}
	return session
}

func TestHostileToDevice(t *testing.T) {
	alice, bot := enter(t, "alice"), enter(t, "bot", func(c *Config) { c.Owner = func(string) bool { return true } })
	room := alice.room(bot)
	bot.reads(room, alice.say(room, "hello"))
	ours := bot.m.mach.OwnIdentity().IdentityKey.String()
	var events []json.RawMessage
	for _, raw := range []string{
		`null`, `[]`, `{}`, `7`, `{"type":"m.room.encrypted"}`,
		`{"type":"m.room.encrypted","sender":"@x:y","content":{"algorithm":"m.olm.v1.curve25519-aes-sha2","sender_key":"AAAA","ciphertext":{"` + ours + `":{"type":0,"body":"AAAA"}}}}`,
		`{"type":"m.room.encrypted","sender":"@x:y","content":{"algorithm":"m.olm.v1.curve25519-aes-sha2","sender_key":"AAAA","ciphertext":{"` + ours + `":{"type":1,"body":""}}}}`,
		`{"type":"m.room.encrypted","sender":"@x:y","content":{"algorithm":"m.olm.v1.curve25519-aes-sha2","sender_key":7,"ciphertext":"x"}}`,
		`{"type":"m.room.encrypted","sender":"@x:y","content":{"algorithm":"m.megolm.v1.aes-sha2","ciphertext":"x"}}`,
		`{"type":"m.room_key","sender":"@x:y","content":{"algorithm":"m.megolm.v1.aes-sha2","room_id":"!a:b","session_id":"x","session_key":"y"}}`,
		`{"type":"m.forwarded_room_key","sender":"@x:y","content":{}}`,
		`{"type":"m.room_key_request","sender":"@x:y","content":{"action":"request","requesting_device_id":"Q","request_id":"1"}}`,
		`{"type":"m.room_key_request","sender":"@x:y","content":[]}`,
		`{"type":"m.secret.request","sender":"@x:y","content":{"action":"request","name":"m.cross_signing.master","requesting_device_id":"Q","request_id":"1"}}`,
		`{"type":"m.key.verification.request","sender":"@x:y","content":{"from_device":7}}`,
		`{"type":"m.key.verification.request","sender":"@x:y","content":{"from_device":"Q","transaction_id":"t","methods":["m.sas.v1"],"timestamp":99999999999999}}`,
		`{"type":"m.key.verification.start","sender":"@x:y","content":{"from_device":"Q","transaction_id":"t","method":"m.sas.v1"}}`,
		`{"type":"m.key.verification.mac","sender":"@x:y","content":{"transaction_id":"t"}}`,
		`{"type":"m.key.verification.done","sender":"@x:y","content":{"transaction_id":"unknown"}}`,
		`{"type":"m.key.verification.request","sender":"@x:y","ſender":"` + alice.cli.UserID.String() + `","content":{"from_device":"Q","transaction_id":"t","methods":["m.sas.v1"],"timestamp":1}}`,
		`{"type":"io.unheard","sender":"@x:y","content":{"a":1}}`,
	} {
		events = append(events, json.RawMessage(raw))
	}
	if err := bot.m.ProcessSync(t.Context(), toDevice(events...), false); err != nil {
		t.Fatal(err)
	}
	if got := bot.reads(room, alice.say(room, "still there?")); got != "still there?" {
		t.Errorf("reads %q", got)
	}
}

// A to-device event has exactly one sender.
func TestToDeviceSenderIsExact(t *testing.T) {
	const content = `"type":"m.room_key_request","content":{"action":"request","requesting_device_id":"Q","request_id":"1"}`
	if e, ok := parseToDevice(json.RawMessage(`{"sender":"@mallory:x",` + content + `}`)); !ok || e.Sender != "@mallory:x" {
		t.Errorf("a plain one: %v, %v", e, ok)
	}
	for _, twice := range []string{
		`"sender":"@mallory:x","ſender":"@alice:x"`, `"ſender":"@alice:x","sender":"@mallory:x"`,
		`"sender":"@mallory:x","Sender":"@alice:x"`, `"sender":"@mallory:x","sender":"@alice:x"`,
	} {
		if e, ok := parseToDevice(json.RawMessage(`{` + twice + `,` + content + `}`)); ok {
			t.Errorf("%s: is of %s", twice, e.Sender)
		}
	}
}
