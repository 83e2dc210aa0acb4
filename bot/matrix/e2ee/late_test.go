package e2ee

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"
)

func TestRestartBetweenEvents(t *testing.T) {
	alice, bot := enter(t, "alice"), enter(t, "bot")
	room := alice.room(bot)
	first := alice.say(room, "first")
	if got := bot.reads(room, first); got != "first" {
		t.Errorf("reads %q", got)
	}
	session := bot.outbound(room, "hello")
	bot.restart()
	if bot.m.RecoveryKey() != "" {
		t.Error("a second start created a new recovery key")
	}
	if got := bot.reads(room, first); got != "first" {
		t.Errorf("after the restart it reads %q", got)
	}
	second := alice.say(room, "second") // with the same session
	if got := bot.reads(room, second); got != "second" {
		t.Errorf("reads %q", got)
	}
	if again := bot.outbound(room, "hello again"); again != session {
		t.Error("the restart lost the outbound session")
	}
	alice.restart()
	if got := alice.reads(room, bot.say(room, "done")); got != "done" {
		t.Errorf("reads %q", got)
	}
}

// outbound sends a message and returns its session.
func (p *peer) outbound(room, words string) string {
	p.t.Helper()
	return sessionOf(p.t, p.event(room, p.say(room, words)))
}

func sessionOf(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var e struct {
		Content struct {
			Session string `json:"session_id"`
		} `json:"content"`
	}
	if err := json.Unmarshal(raw, &e); err != nil || e.Content.Session == "" {
		t.Fatalf("not encrypted: %s", raw)
	}
	return e.Content.Session
}

func TestKeyComesLate(t *testing.T) {
	alice, bot := enter(t, "alice"), enter(t, "bot")
	room := alice.room(bot)
	id := alice.say(room, "late")
	resp := bot.fetchKeys()
	held := resp.ToDevice.Events
	resp.ToDevice.Events = nil
	bot.take(resp)
	raw := bot.event(room, id)
	_, err := decrypted(bot.m, t.Context(), room, raw)
	var noKey *NoKeyError
	if !errors.As(err, &noKey) {
		t.Fatalf("without its key: %v", err)
	}
	want := Key{room, sessionOf(t, raw)}
	if noKey.Key != want || noKey.Sender != alice.cli.UserID.String() || noKey.Withheld != "" {
		t.Errorf("misses %+v", noKey)
	}
	for range 2 { // the homeserver may send it twice
		if err := bot.m.ProcessSync(t.Context(), toDevice(held...), false); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]Key{want}, bot.arrived()); diff != "" {
		t.Errorf("keys that arrived: %s", diff)
	}
	if got := bot.reads(room, id); got != "late" {
		t.Errorf("reads %q", got)
	}
}

func toDevice(events ...json.RawMessage) (s Sync) {
	s.ToDevice.Events = events
	return s
}

func TestKeyIsAskedFor(t *testing.T) {
	alice, bot := enter(t, "alice"), enter(t, "bot")
	room := alice.room(bot)
	id := alice.say(room, "lost")
	resp := bot.fetch()
	resp.ToDevice.Events = nil // lost for good
	bot.take(resp)
	raw := bot.event(room, id)
	_, err := decrypted(bot.m, t.Context(), room, raw)
	var noKey *NoKeyError
	if !errors.As(err, &noKey) {
		t.Fatalf("without its key: %v", err)
	}
	if err := bot.m.RequestKey(t.Context(), noKey.Room, noKey.Sender, noKey.Session); err != nil {
		t.Fatal(err)
	}
	alice.until("the request", func() bool {
		return strings.Contains(string(join(alice.toUs)), "m.room_key_request")
	})
	bot.until("the key", func() bool { return len(bot.arrived()) > 0 })
	if got := bot.reads(room, id); got != "lost" {
		t.Errorf("reads %q", got)
	}
	// a user who was never in the room gets nothing
	mallory := enter(t, "mallory")
	if err := mallory.m.RequestKey(t.Context(), noKey.Room, noKey.Sender, noKey.Session); err != nil {
		t.Fatal(err)
	}
	alice.until("the request", func() bool {
		return strings.Contains(string(join(alice.toUs)), "m.room_key_request")
	})
	mallory.until("the answer", func() bool { return len(mallory.toUs) > 0 })
	if strings.Contains(string(join(mallory.toUs)), "m.room.encrypted") {
		t.Errorf("a stranger got a key: %s", join(mallory.toUs))
	}
}

// A key request that arrives while the device is offline is answered when its first batch
// is committed, not before: after a rollback, messages sent in between could not be read.
func TestKeyIsGivenWhenItIsCommitted(t *testing.T) {
	alice, bot := enter(t, "alice"), enter(t, "bot")
	room := alice.room(bot)
	msg := alice.say(room, "lost")
	resp := bot.fetch()
	resp.ToDevice.Events = nil // lost for good
	bot.take(resp)
	_, err := decrypted(bot.m, t.Context(), room, bot.event(room, msg))
	var noKey *NoKeyError
	if !errors.As(err, &noKey) {
		t.Fatalf("without its key: %v", err)
	}
	if err := bot.m.RequestKey(t.Context(), noKey.Room, noKey.Sender, noKey.Session); err != nil {
		t.Fatal(err)
	}
	alice.restart()
	var asked *syncResponse
	alice.until("the request", func() bool {
		asked = alice.fetch()
		return strings.Contains(string(join(asked.ToDevice.Events)), "m.room_key_request")
	})
	alice.restart() // everything so far is committed
	for range 2 {   // as if the first batch could not be stored
		if err := alice.m.ProcessSync(t.Context(), asked.Sync, false); err != nil {
			t.Fatal(err)
		}
	}
	answers := 0
	count := func() bool {
		answers += strings.Count(string(join(bot.toUs)), "m.room.encrypted")
		return len(bot.arrived()) > 0
	}
	bot.sync()
	if count() || answers > 0 {
		t.Errorf("answered before the batch was committed: %s", join(bot.toUs))
	}
	bot.toUs = nil
	alice.m.AfterCommit(t.Context(), asked.Sync)
	bot.until("the key", count)
	if got := bot.reads(room, msg); got != "lost" || answers != 1 {
		t.Errorf("reads %q after %d answers", got, answers)
	}
}

func join(events []json.RawMessage) (all []byte) {
	for _, raw := range events {
		all = append(all, raw...)
	}
	return all
}

func TestWithheld(t *testing.T) {
	alice, bot := enter(t, "alice"), enter(t, "bot")
	room := alice.room(bot)
	msg := alice.say(room, "not for you")
	resp := bot.fetch()
	key := resp.ToDevice.Events
	resp.ToDevice.Events = nil
	bot.take(resp)
	raw := bot.event(room, msg)
	if _, err := decrypted(bot.m, t.Context(), room, raw); err == nil {
		t.Fatal("reads without a key")
	}
	withheld, _ := json.Marshal(map[string]any{
		"type": "m.room_key.withheld", "sender": alice.cli.UserID,
		"content": event.RoomKeyWithheldEventContent{
			RoomID: id.RoomID(room), Algorithm: id.AlgorithmMegolmV1, SessionID: id.SessionID(sessionOf(t, raw)),
			SenderKey: alice.m.mach.OwnIdentity().IdentityKey, Code: event.RoomKeyWithheldUnverified,
		},
	})
	if err := bot.m.ProcessSync(t.Context(), toDevice(withheld), false); err != nil {
		t.Fatal(err)
	}
	if len(bot.arrived()) != 1 {
		t.Errorf("KeyArrived was called %d times, want 1 for the refusal", len(bot.arrived()))
	}
	_, err := decrypted(bot.m, t.Context(), room, raw)
	var noKey *NoKeyError
	if !errors.As(err, &noKey) || noKey.Withheld != "m.unverified" {
		t.Fatalf("after the refusal: %v", err)
	}
	if err := bot.m.ProcessSync(t.Context(), toDevice(key...), false); err != nil {
		t.Fatal(err)
	}
	if got := bot.reads(room, msg); got != "not for you" {
		t.Errorf("with the key that arrived later: reads %q", got)
	}
}
