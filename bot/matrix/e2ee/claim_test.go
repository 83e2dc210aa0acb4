package e2ee

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"
)

// A message is not sent while its key cannot be, because it would never be readable.
func TestClaimFails(t *testing.T) {
	d := newDead(t)
	bot := enter(t, "bot", func(c *Config) { c.Client.HomeserverURL = d.at })
	alice := enter(t, "alice")
	room := alice.room(bot)
	bot.sync()
	d.set(func() { d.refuse = "/keys/claim" })
	if _, _, err := bot.m.Encrypt(t.Context(), room, "m.room.message", text("lost")); err == nil {
		t.Error("encrypted for nobody")
	}
	d.set(func() { d.refuse = "" })
	if got := alice.reads(room, bot.say(room, "again")); got != "again" {
		t.Errorf("reads %q", got)
	}
}

// A malformed one-time key and a device that has gone meanwhile do not keep others from
// getting the key of a room.
func TestUnusableOneTimeKeys(t *testing.T) {
	d := newDead(t)
	bot := enter(t, "bot", func(c *Config) { c.Client.HomeserverURL = d.at })
	alice, bob := enter(t, "alice"), enter(t, "bob")
	phone := alice.signed()
	room := bob.room(bot, alice)
	bot.sync()
	if err := bot.m.fetchDevices(t.Context(), []id.UserID{alice.cli.UserID, bob.cli.UserID}); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	d.set(func() {
		d.answer = func(path string, body []byte) []byte {
			if !strings.HasSuffix(path, "/keys/claim") {
				return body
			}
			once.Do(func() { // her phone logs out
				bot.m.mu.Lock()
				defer bot.m.mu.Unlock()
				devices, err := bot.m.store.GetDevices(context.Background(), alice.cli.UserID)
				delete(devices, phone.cli.DeviceID)
				if err == nil {
					err = bot.m.store.PutDevices(context.Background(), alice.cli.UserID, devices)
				}
				if err != nil {
					t.Error(err)
				}
			})
			var resp map[string]map[id.UserID]map[id.DeviceID]any
			if err := json.Unmarshal(body, &resp); err != nil {
				return body // of another form
			}
			if resp["one_time_keys"][alice.cli.UserID] != nil {
				resp["one_time_keys"][alice.cli.UserID][alice.cli.DeviceID] = map[string]any{"signed_curve25519:AAAA": 1}
			}
			changed, err := json.Marshal(resp)
			if err != nil {
				t.Error(err)
			}
			return changed
		}
	})
	if got := bob.reads(room, bot.say(room, "hello")); got != "hello" {
		t.Errorf("reads %q", got)
	}
}

// A user who joins while one-time keys are claimed can read the message that waits.
func TestJoinDuringClaim(t *testing.T) {
	d := newDead(t)
	bot := enter(t, "bot", func(c *Config) { c.Client.HomeserverURL = d.at })
	carol, dave := enter(t, "carol"), enter(t, "dave")
	room := carol.room(bot)
	bot.sync()
	if err := bot.m.fetchDevices(t.Context(), []id.UserID{carol.cli.UserID}); err != nil {
		t.Fatal(err)
	}
	back := d.gone(carol)
	ended := make(chan json.RawMessage, 1)
	go func() {
		_, content, err := bot.m.Encrypt(t.Context(), room, "m.room.message", text("welcome"))
		if err != nil {
			t.Error(err)
		}
		ended <- content
	}()
	if path := <-d.held; !strings.HasSuffix(path, "/keys/claim") {
		t.Fatalf("held %s", path)
	}
	carol.bring(room, dave)
	bot.until("dave", func() bool {
		users, err := bot.m.rooms.readers(t.Context(), id.RoomID(room))
		return err == nil && slices.Contains(users, dave.cli.UserID)
	})
	back()
	if got := dave.reads(room, bot.put(room, "m.room.encrypted", <-ended)); got != "welcome" {
		t.Errorf("reads %q", got)
	}
}

// Encrypting for a device while it waits for a new Olm session does not cancel that.
func TestRepairIsNotForgotten(t *testing.T) {
	alice, bot := enter(t, "alice"), enter(t, "bot")
	room := alice.room(bot)
	bot.say(room, "hello")
	device := alice.m.mach.OwnIdentity()
	sessions := func() int {
		all, err := bot.m.store.GetSessions(t.Context(), device.IdentityKey)
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	before := sessions()
	bot.m.mu.Lock()
	bot.m.store.renew[device.IdentityKey] = true
	err := bot.m.mach.SendEncryptedToDevice(answers{}.with(t.Context()), device, event.ToDeviceDummy, event.Content{})
	bot.m.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if err := bot.m.meet(t.Context(), []*id.Device{device}); err != nil {
		t.Fatal(err)
	}
	if got := sessions(); got != before+1 {
		t.Errorf("%d sessions, want one more than %d", got, before)
	}
}

// Only another homeserver may be left out, and only when time is up: everything else is
// tried again.
func TestLate(t *testing.T) {
	bot := enter(t, "bot")
	over, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	near, far := id.UserID("@near:"+bot.cli.UserID.Homeserver()), id.UserID("@far:dead.example")
	if bot.m.late(over, near) || bot.m.late(over, bot.cli.UserID) || bot.m.late(t.Context(), far) || !bot.m.late(over, far) {
		t.Error("wrong about who is late")
	}
	failed := errors.New("no answer")
	if _, err := bot.m.queried([]id.UserID{far}, nil, failed, true); err != nil || bot.m.asksAgain(far, askAgain) {
		t.Errorf("a dead homeserver: %v, asked again: %v", err, bot.m.asksAgain(far, askAgain))
	}
	if _, err := bot.m.queried([]id.UserID{near}, nil, failed, false); !errors.Is(err, failed) || !bot.m.asksAgain(near, askAgain) {
		t.Errorf("our own: %v", err)
	}
	if err := bot.m.Close(); err != nil {
		t.Fatal(err)
	}
	if bot.m.late(over, far) {
		t.Error("late after Close")
	}
}

// Close ends what waits for other homeservers, and nothing begins afterwards.
func TestCloseWhileServerIsDead(t *testing.T) {
	d := newDead(t)
	bot := enter(t, "bot", func(c *Config) { c.Client.HomeserverURL = d.at })
	alice := enter(t, "alice")
	room := alice.room(bot)
	bot.sync()
	defer d.gone(alice)()
	ended := bot.begin(room)
	<-d.held
	begun := time.Now()
	if err := bot.m.Close(); err != nil {
		t.Fatal(err)
	}
	if waited := time.Since(begun); waited > fetchTime/2 {
		t.Errorf("closed after %s", waited)
	}
	if err := <-ended; err == nil {
		t.Error("encrypted after Close")
	}
	if err := bot.m.fetchDevices(t.Context(), []id.UserID{alice.cli.UserID}); err == nil || len(d.held) > 0 {
		t.Errorf("fetched after Close: %v, %d requests", err, len(d.held))
	}
}
