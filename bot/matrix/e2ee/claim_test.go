package e2ee

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"maunium.net/go/mautrix"
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

// A device whose messages cannot be decrypted gets a new Olm session, but not twice in an hour.
func TestBrokenSession(t *testing.T) {
	alice, bot := enter(t, "alice"), enter(t, "bot")
	room := alice.room(bot)
	alice.reads(room, bot.say(room, "hello"))
	bot.reads(room, alice.say(room, "hello"))
	device := alice.m.mach.OwnIdentity()
	sessions := func() int {
		all, err := bot.m.store.GetSessions(t.Context(), device.IdentityKey)
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	before := sessions()
	broken := func() {
		raw, err := json.Marshal(map[string]any{"type": "m.room.encrypted", "sender": alice.cli.UserID, "content": map[string]any{
			"algorithm": id.AlgorithmOlmV1, "sender_key": device.IdentityKey,
			"ciphertext": map[id.IdentityKey]any{bot.m.mach.OwnIdentity().IdentityKey: map[string]any{"type": 1, "body": "AwogAAAA"}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := bot.m.ProcessSync(t.Context(), toDevice(raw), false); err != nil {
				t.Fatal(err)
			}
			bot.m.AfterCommit(t.Context(), Sync{})
			bot.m.requests.Wait()
		}
	}
	broken()
	if got := sessions(); got != before {
		t.Errorf("%d sessions, want %d: the present one is new", got, before)
	}
	if _, err := bot.m.db.Exec(t.Context(), "UPDATE crypto_olm_session SET created_at=$1", time.Now().Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	broken()
	if got := sessions(); got != before+1 {
		t.Errorf("%d sessions, want %d", got, before+1)
	}
	if got := alice.reads(room, bot.say(room, "with the new one")); got != "with the new one" {
		t.Errorf("reads %q", got)
	}
}

// Only another homeserver may be left out, and only when time is up: everything else is
// tried again.
func TestLate(t *testing.T) {
	bot := enter(t, "bot")
	over, cancel := context.WithTimeoutCause(t.Context(), 0, errLate)
	defer cancel()
	impatient, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	near, far := id.UserID("@near:"+bot.cli.UserID.Homeserver()), id.UserID("@far:dead.example")
	if bot.m.late(over, near) || bot.m.late(over, bot.cli.UserID) || bot.m.late(t.Context(), far) || bot.m.late(impatient, far) || !bot.m.late(over, far) {
		t.Error("wrong about who is late")
	}
	failed := errors.New("no answer")
	if err := bot.m.unanswered(over, []id.UserID{far}, failed); err != nil || bot.m.asksAgain(far, askAgain) {
		t.Errorf("a dead homeserver: %v, asked again: %v", err, bot.m.asksAgain(far, askAgain))
	}
	if err := bot.m.unanswered(over, []id.UserID{near}, failed); !errors.Is(err, failed) || !bot.m.asksAgain(near, askAgain) {
		t.Errorf("our own: %v", err)
	}
	if err := bot.m.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := bot.m.bounded(t.Context())
	defer cancel()
	if ctx.Err() == nil || bot.m.late(ctx, far) {
		t.Error("late after Close")
	}
}

// Users of many homeservers do not cause as many requests at once, and a panic that an answer causes is an error.
func TestByServer(t *testing.T) {
	c := &core{cfg: Config{Client: &mautrix.Client{UserID: "@bot:999"}}}
	all := make([]id.UserID, 1000)
	for i := range all {
		all[i] = id.UserID(fmt.Sprintf("@user:%d", i))
	}
	same := func(user id.UserID) id.UserID { return user }
	groups := make(chan []id.UserID, len(all))
	if err := byServer(c, all, same, func(users []id.UserID) error { groups <- users; return nil }); err != nil {
		t.Fatal(err)
	}
	close(groups)
	count, n := len(groups), 0
	for group := range groups {
		if n += len(group); slices.Contains(group, "@user:999") && len(group) != 1 {
			t.Error("our own homeserver waits for others")
		}
	}
	if count > 2*maxServers+1 || n != len(all) {
		t.Errorf("%d groups of %d users", count, n)
	}
	if err := byServer(c, all, same, func([]id.UserID) error { panic("malformed") }); err == nil || !strings.Contains(err.Error(), "malformed") {
		t.Errorf("got %v", err)
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
