package e2ee

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/id"
)

// exhaust claims all one-time keys of somebody's device.
func exhaust(t *testing.T, by, of *peer) {
	t.Helper()
	for range 200 {
		if !claimed(t, by, of) {
			return
		}
	}
	t.Fatal("the one-time keys do not end")
}

// claimed claims one, and tells whether there was one.
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

// age makes the fallback key older than it has to be to be replaced.
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

// A device that was off for so long that all of its one-time keys are gone can be
// written to, by any number of people, and so can it after its key was replaced.
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
		t.Error("a key that is not an hour old is replaced")
	}
	bot.age()
	bot.until("another fallback key", func() bool { return k.key(bot) != first })
	if got := bot.reads(ofCarol, fromCarol); got != "me too" {
		t.Errorf("with the key before, it reads %q", got)
	}
	exhaust(t, enter(t, "mallory"), bot)
	if got := bot.reads(ofDave, dave.say(ofDave, "and me")); got != "and me" {
		t.Errorf("with the new key, it reads %q", got)
	}
	if got := alice.reads(ofAlice, bot.say(ofAlice, "welcome")); got != "welcome" {
		t.Errorf("alice reads %q", got)
	}
}

// A key whose upload failed is uploaded later, also after a restart; what has
// reached the homeserver is not replaced.
func TestFallbackKeyIsUploadedOnce(t *testing.T) {
	k := newKeeper(t)
	k.fail = true
	bot := k.enter(t, "bot")
	bot.sync()
	bot.sync() // not at once again
	if k.count() != 1 || k.key(bot) != "" {
		t.Fatalf("%d uploads, key %q", k.count(), k.key(bot))
	}
	made := bot.m.mach.GetAccount().Internal.(fallbackAccount).FallbackKey()
	bot.restart()
	k.mu.Lock()
	k.fail = false
	k.mu.Unlock()
	bot.until("the upload", func() bool { return k.key(bot) != "" })
	for name, public := range made {
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
		t.Errorf("%d uploads of a key that is there", k.count()-uploads)
	}
}

// A homeserver that takes fallback keys and keeps none costs one upload an hour.
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
	// one that knows nothing of them is not bothered at all
	var none Sync
	bot.age()
	if bot.m.AfterCommit(t.Context(), none); k.count() != 2 {
		t.Errorf("%d uploads", k.count())
	}
}

// One-time keys that have all been used are replaced, although Dendrite then
// leaves their count out.
func TestOneTimeKeysAreReplaced(t *testing.T) {
	alice, bot := enter(t, "alice"), enter(t, "bot")
	room := alice.room(bot)
	exhaust(t, enter(t, "mallory"), bot)
	bot.m.counted = time.Time{} // it was asked a moment ago
	bot.sync()
	if got := bot.reads(room, alice.say(room, "still there?")); got != "still there?" {
		t.Errorf("reads %q", got)
	}
}

// What was not committed gives nothing out: a state that is put back would not
// have the other half of it.
func TestNothingIsGivenOutBeforehand(t *testing.T) {
	mallory, bot := enter(t, "mallory"), enter(t, "bot")
	exhaust(t, mallory, bot)
	bot.m.counted = time.Time{} // it was asked a moment ago
	resp := bot.fetch()
	if err := bot.m.ProcessSync(t.Context(), resp.Sync, false); err != nil {
		t.Fatal(err)
	}
	if claimed(t, mallory, bot) {
		t.Error("a key was given out before the batch was committed")
	}
	if bot.m.AfterCommit(t.Context(), resp.Sync); !claimed(t, mallory, bot) {
		t.Error("no key was given out")
	}
}
