package e2ee

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

	"matrix-tui/bot/matrix/decode"
)

func TestNewDevice(t *testing.T) {
	alice, bot := enter(t, "alice"), enter(t, "bot")
	room := alice.room(bot)
	before := sessionOf(t, alice.event(room, bot.say(room, "before")))
	phone := alice.signed()
	bot.until("the new device", func() bool {
		outdated, err := bot.m.store.GetOutdatedTrackedUsers(t.Context())
		return err == nil && len(outdated) > 0
	})
	msg := bot.say(room, "after")
	if got := phone.reads(room, msg); got != "after" {
		t.Errorf("the new device reads %q", got)
	}
	after := sessionOf(t, alice.event(room, msg))
	if after == before {
		t.Error("a new device got a key for older messages")
	}
	if got := bot.reads(room, phone.say(room, "from the phone")); got != "from the phone" {
		t.Errorf("the bot reads %q", got)
	}
	if _, err := phone.cli.Logout(t.Context()); err != nil {
		t.Fatal(err)
	}
	bot.until("its end", func() bool {
		outdated, err := bot.m.store.GetOutdatedTrackedUsers(t.Context())
		return err == nil && len(outdated) > 0
	})
	if bot.outbound(room, "without the phone") == after {
		t.Error("a deleted device can read new messages")
	}
}

func TestMembersComeAndGo(t *testing.T) {
	alice, bot, carol := enter(t, "alice"), enter(t, "bot"), enter(t, "carol")
	room := alice.room(bot)
	first := bot.say(room, "for two")
	before := sessionOf(t, bot.event(room, first))
	alice.bring(room, carol)
	bot.until("carol to be there", func() bool {
		users, err := bot.m.rooms.readers(t.Context(), id.RoomID(room))
		return err == nil && len(users) == 3
	})
	second := bot.say(room, "for three")
	after := sessionOf(t, bot.event(room, second))
	if after == before {
		t.Error("a new member got the key of older messages")
	}
	if got := carol.reads(room, second); got != "for three" {
		t.Errorf("carol reads %q", got)
	}
	if _, err := decrypted(carol.m, t.Context(), room, bot.event(room, first)); err == nil {
		t.Error("carol reads a message from before she joined")
	}
	if _, err := alice.cli.KickUser(t.Context(), id.RoomID(room), &mautrix.ReqKickUser{UserID: carol.cli.UserID}); err != nil {
		t.Fatal(err)
	}
	bot.until("carol to be gone", func() bool {
		users, err := bot.m.rooms.readers(t.Context(), id.RoomID(room))
		return err == nil && len(users) == 2
	})
	if bot.outbound(room, "for two again") == after {
		t.Error("a removed member can read new messages")
	}
	// a limited timeline may hide a join
	bot.sync()
	if err := bot.m.ProcessState(t.Context(), room, true, nil); err != nil {
		t.Fatal(err)
	}
	dave := enter(t, "dave")
	alice.bring(room, dave)
	if got := dave.reads(room, bot.say(room, "for dave too")); got != "for dave too" {
		t.Errorf("dave reads %q", got)
	}
}

func TestInvitedReadUnlessHistoryIsKept(t *testing.T) {
	alice, bot := enter(t, "alice"), enter(t, "bot")
	for visibility, want := range map[event.HistoryVisibility]int{event.HistoryVisibilityShared: 3, event.HistoryVisibilityJoined: 2} {
		room := alice.room(bot)
		if _, err := alice.cli.SendStateEvent(t.Context(), id.RoomID(room), event.StateHistoryVisibility, "", &event.HistoryVisibilityEventContent{HistoryVisibility: visibility}); err != nil {
			t.Fatal(err)
		}
		carol := enter(t, "carol")
		if _, err := alice.cli.InviteUser(t.Context(), id.RoomID(room), &mautrix.ReqInviteUser{UserID: carol.cli.UserID}); err != nil {
			t.Fatal(err)
		}
		bot.until("the invitation", func() bool {
			last := bot.seen[len(bot.seen)-1]
			return last.Room == room && strings.Contains(string(last.Raw), carol.cli.UserID.String())
		})
		bot.say(room, "hello")
		users, err := bot.m.rooms.readers(t.Context(), id.RoomID(room))
		if err != nil || len(users) != want {
			t.Errorf("%s: readers %v, want %d: %v", visibility, users, want, err)
		}
	}
}

func TestEncryptedStaysEncrypted(t *testing.T) {
	alice, bot := enter(t, "alice"), enter(t, "bot")
	room := alice.room(bot)
	content := `{"type":"m.room.encryption","event_id":"$1","sender":"@ann:here","state_key":"","content":{}}`
	if err := bot.m.ProcessState(t.Context(), room, false, decode.Timeline(room, []json.RawMessage{json.RawMessage(content)}, func(err error) { t.Error(err) })); err != nil {
		t.Fatal(err)
	}
	if yes, err := bot.m.IsEncrypted(t.Context(), room); err != nil || !yes {
		t.Errorf("encrypted %v, %v", yes, err)
	}
	if got := alice.reads(room, bot.say(room, "still")); got != "still" {
		t.Errorf("reads %q", got)
	}
	// nothing is sent to a room with an unsupported algorithm
	strange := "!strange:localhost"
	odd := `{"type":"m.room.encryption","event_id":"$1","sender":"@ann:here","state_key":"","content":{"algorithm":"rot13","rotation_period_ms":"x"}}`
	if err := bot.m.ProcessState(t.Context(), strange, false, decode.Timeline(strange, []json.RawMessage{json.RawMessage(odd)}, func(err error) { t.Error(err) })); err != nil {
		t.Fatal(err)
	}
	if _, _, err := bot.m.Encrypt(t.Context(), strange, "m.room.message", text("x")); !errors.Is(err, ErrAlgorithm) {
		t.Errorf("rot13: %v", err)
	}
	clear, err := alice.cli.CreateRoom(t.Context(), &mautrix.ReqCreateRoom{})
	if err != nil {
		t.Fatal(err)
	}
	kind, plain, err := alice.m.Encrypt(t.Context(), clear.RoomID.String(), "m.room.message", text("open"))
	if err != nil || kind != "m.room.message" || string(plain) != string(text("open")) {
		t.Errorf("in an unencrypted room: %s %s %v", kind, plain, err)
	}
	if _, known, err := alice.m.rooms.how(t.Context(), clear.RoomID); err != nil || !known {
		t.Errorf("the state of an unencrypted room was requested again: %v", err)
	}
	if _, err := alice.cli.SendStateEvent(t.Context(), clear.RoomID, event.StateEncryption, "", &event.EncryptionEventContent{Algorithm: id.AlgorithmMegolmV1}); err != nil {
		t.Fatal(err)
	}
	alice.until("the encryption", func() bool {
		yes, err := alice.m.IsEncrypted(t.Context(), clear.RoomID.String())
		return err == nil && yes
	})
}

// A user who is only invited cannot fetch the encryption state, and Dendrite returns
// another event, which must not be taken for it.
func TestInvitedKnowsNothing(t *testing.T) {
	alice, bot := enter(t, "alice"), enter(t, "bot")
	made, err := alice.cli.CreateRoom(t.Context(), &mautrix.ReqCreateRoom{Preset: "private_chat", Invite: []id.UserID{bot.cli.UserID}})
	if err != nil {
		t.Fatal(err)
	}
	room := made.RoomID.String()
	if kind, _, err := bot.m.Encrypt(t.Context(), room, "m.room.message", text("x")); err == nil || errors.Is(err, ErrAlgorithm) {
		t.Errorf("before the join: %q, %v", kind, err)
	}
	if _, err := bot.cli.JoinRoomByID(t.Context(), made.RoomID); err != nil {
		t.Fatal(err)
	}
	if kind, _, err := bot.m.Encrypt(t.Context(), room, "m.room.message", text("x")); err != nil || kind != "m.room.message" {
		t.Errorf("after the join: %q, %v", kind, err)
	}
}
