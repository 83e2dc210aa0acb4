package e2ee

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/id"
)

// exhaust claims all one-time keys of a device.
func exhaust(t *testing.T, by, of *peer) {
	t.Helper()
	for range 200 {
		if !claimed(t, by, of) {
			return
		}
	}
	t.Fatal("the one-time keys are never used up")
}

// claimed claims a one-time key and reports whether there was one.
func claimed(t *testing.T, by, of *peer) bool {
	t.Helper()
	resp, err := by.cli.ClaimKeys(t.Context(), &mautrix.ReqClaimKeys{OneTimeKeys: mautrix.OneTimeKeysRequest{
		of.cli.UserID: {of.cli.DeviceID: id.KeyAlgorithmSignedCurve25519},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return len(resp.OneTimeKeys[of.cli.UserID][of.cli.DeviceID]) > 0
}

// age makes the fallback key old enough to be replaced.
func (p *peer) age() {
	p.t.Helper()
	text, err := p.m.db.meta(p.t.Context(), fallbackKey)
	var f fallback
	if err == nil {
		err = json.Unmarshal([]byte(text), &f)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	f.Made = f.Made.Add(-2 * fallbackPause)
	if err := p.m.saveFallback(p.t.Context(), f); err != nil {
		p.t.Fatal(err)
	}
}

// A device whose one-time keys were used up while it was offline can still receive
// messages from any number of people, even after its fallback key was replaced.
func TestFallbackKey(t *testing.T) {
	k := newKeeper(t)
	bot, alice, carol, dave := k.enter(t, "bot"), k.enter(t, "alice"), k.enter(t, "carol"), k.enter(t, "dave")
	bot.sync()
	first := k.key(bot)
	if first == "" || k.count() != 1 {
		t.Fatalf("%d uploads, key %q", k.count(), first)
	}
	ofAlice, ofCarol, ofDave := alice.room(bot), carol.room(bot), dave.room(bot)
	bot.restart()
	exhaust(t, enter(t, "mallory"), bot)
	fromAlice, fromCarol := alice.say(ofAlice, "while you were away"), carol.say(ofCarol, "me too")
	if got := bot.reads(ofAlice, fromAlice); got != "while you were away" {
		t.Errorf("reads %q", got)
	}
	if k.key(bot) != first {
		t.Error("a key was replaced within an hour")
	}
	bot.age()
	bot.until("another fallback key", func() bool { return k.key(bot) != first })
	if got := bot.reads(ofCarol, fromCarol); got != "me too" {
		t.Errorf("with the previous key, it reads %q", got)
	}
	exhaust(t, enter(t, "mallory"), bot)
	if got := bot.reads(ofDave, dave.say(ofDave, "and me")); got != "and me" {
		t.Errorf("with the new key, it reads %q", got)
	}
	if got := alice.reads(ofAlice, bot.say(ofAlice, "welcome")); got != "welcome" {
		t.Errorf("alice reads %q", got)
	}
}

// After an upload has failed, another key is uploaded later, even after a restart. A key that has
// reached the homeserver is not replaced.
func TestFallbackKeyIsUploadedOnce(t *testing.T) {
	k := newKeeper(t)
	k.fail = true
	bot := k.enter(t, "bot")
	bot.sync()
	bot.sync() // does not retry at once
	if k.count() != 1 || k.key(bot) != "" {
		t.Fatalf("%d uploads, key %q", k.count(), k.key(bot))
	}
	bot.restart()
	k.mu.Lock()
	k.fail = false
	k.mu.Unlock()
	bot.until("the upload", func() bool { return k.key(bot) != "" })
	for name, public := range bot.m.mach.GetAccount().Internal.(fallbackAccount).FallbackKey() {
		if !strings.Contains(k.key(bot), name) || !strings.Contains(k.key(bot), string(public)) {
			t.Errorf("uploaded %s, made %s", k.key(bot), public)
		}
	}
	uploads := k.count()
	for range 3 {
		bot.sync()
	}
	bot.restart()
	bot.sync()
	if k.count() != uploads {
		t.Errorf("%d uploads of an existing key", k.count()-uploads)
	}
}

// A homeserver that accepts fallback keys but does not store them costs one upload an
// hour.
func TestFallbackKeyIsNotKept(t *testing.T) {
	k := newKeeper(t)
	k.keeps = false
	bot := k.enter(t, "bot")
	for range 3 {
		bot.sync()
	}
	bot.restart()
	bot.sync()
	if k.count() != 1 {
		t.Errorf("%d uploads", k.count())
	}
	bot.age()
	bot.sync()
	if k.count() != 2 {
		t.Errorf("%d uploads after an hour", k.count())
	}
	// one that does not support them gets no uploads
	var none Sync
	bot.age()
	if bot.m.AfterCommit(t.Context(), none); k.count() != 2 {
		t.Errorf("%d uploads", k.count())
	}
}

// Used one-time keys are replaced, although Dendrite omits their count when it is zero.
func TestOneTimeKeysAreReplaced(t *testing.T) {
	alice, bot := enter(t, "alice"), enter(t, "bot")
	room := alice.room(bot)
	exhaust(t, enter(t, "mallory"), bot)
	bot.m.counted = time.Time{} // as if it had not just asked
	bot.sync()
	if got := bot.reads(room, alice.say(room, "still there?")); got != "still there?" {
		t.Errorf("reads %q", got)
	}
}

// Keys are uploaded only after a commit: after a rollback the private halves would be
// lost.
func TestNothingIsGivenOutBeforehand(t *testing.T) {
	mallory, bot := enter(t, "mallory"), enter(t, "bot")
	exhaust(t, mallory, bot)
	bot.m.counted = time.Time{} // it was asked a moment ago
	resp := bot.fetch()
	if err := bot.m.ProcessSync(t.Context(), resp.Sync, false); err != nil {
		t.Fatal(err)
	}
	if claimed(t, mallory, bot) {
		t.Error("a key was uploaded before the batch was committed")
	}
	if bot.m.AfterCommit(t.Context(), resp.Sync); !claimed(t, mallory, bot) {
		t.Error("no key was uploaded")
	}
}
