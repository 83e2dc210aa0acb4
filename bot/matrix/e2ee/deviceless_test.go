package e2ee

import (
	"errors"
	"testing"

	"maunium.net/go/mautrix"
)

// A login without a device cannot read or write encrypted events, reveals nothing, and
// works in unencrypted rooms.
func TestNoDevice(t *testing.T) {
	alice, bot := enter(t, "alice"), enter(t, "bot")
	room := alice.room(bot)
	bot.reads(room, alice.say(room, "hello"))
	device := bot.cli.DeviceID
	bot.cli.DeviceID = "" // like an application service's login
	bot.restart()
	ctx := t.Context()
	if kind, content, err := bot.m.Encrypt(ctx, room, "m.room.message", text("secret")); !errors.Is(err, ErrNoDevice) {
		t.Errorf("in an encrypted room: %s %s %v", kind, content, err)
	}
	clear, err := alice.cli.CreateRoom(ctx, &mautrix.ReqCreateRoom{})
	if err != nil {
		t.Fatal(err)
	}
	alice.bring(clear.RoomID.String(), bot)
	if kind, content, err := bot.m.Encrypt(ctx, clear.RoomID.String(), "m.room.message", text("open")); err != nil || kind != "m.room.message" || string(content) != string(text("open")) {
		t.Errorf("in an unencrypted room: %s %s %v", kind, content, err)
	}
	msg := alice.say(room, "can you read this?")
	raw := bot.event(room, msg)
	var noKey *NoKeyError
	if _, err := decrypted(bot.m, ctx, room, raw); !errors.As(err, &noKey) || noKey.Session != sessionOf(t, raw) {
		t.Errorf("an encrypted message: %v", err)
	}
	if err := bot.m.RequestKey(ctx, noKey.Room, noKey.Sender, noKey.Session); !errors.Is(err, ErrNoDevice) {
		t.Errorf("request its key: %v", err)
	}
	// with its device again, nothing is lost
	bot.cli.DeviceID = device
	bot.restart()
	if got := bot.reads(room, alice.say(room, "and now?")); got != "and now?" {
		t.Errorf("reads %q", got)
	}
	if !status(t, bot).Signed {
		t.Error("the device is no longer signed")
	}
}
