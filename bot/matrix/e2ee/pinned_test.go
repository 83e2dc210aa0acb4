package e2ee

import (
	"slices"
	"testing"

	"maunium.net/go/mautrix/id"
)

func plain(c *Config)     { c.NoCrossSigning = true }
func firstSeen(c *Config) { c.Devices = FirstSeen }

// identityOf returns what crypto.db has about a user.
func (p *peer) identityOf(of *peer) Identity {
	p.t.Helper()
	all, err := Identities(p.t.Context(), p.dir)
	at := slices.IndexFunc(all, func(i Identity) bool { return i.User == of.cli.UserID.String() })
	if err != nil || at < 0 {
		p.t.Fatalf("identities: %+v, %v", all, err)
	}
	return all[at]
}

// Without an identity, the devices of the first contact count, and none that appears later.
func TestFirstSeenDevices(t *testing.T) {
	alice, bot := enter(t, "alice", plain), enter(t, "bot", firstSeen)
	tablet := alice.second(plain)
	room := alice.room(bot)
	both := bot.say(room, "hello, Alice")
	for _, p := range []*peer{alice, tablet} {
		if got := p.reads(room, both); got != "hello, Alice" {
			t.Errorf("reads %q", got)
		}
		if got := bot.reads(room, p.say(room, "hello")); got != "hello" {
			t.Errorf("reads %q", got)
		}
	}

	added := alice.second(plain) // perhaps by the homeserver
	bot.knows(alice)
	added.refused(room, bot.say(room, "for those I know"))
	msg := added.say(room, "obey")
	bot.distrusts(room, msg, added, NewDevice)
	bot.restart()
	bot.distrusts(room, msg, added, NewDevice)
	if got := alice.reads(room, bot.say(room, "still for Alice")); got != "still for Alice" {
		t.Errorf("alice reads %q", got)
	}

	// The operator accepts it while the bot is running, but only the one that was shown.
	shown := bot.identityOf(alice)
	if len(shown.New) != 1 || shown.New[0].ID != added.cli.DeviceID.String() {
		t.Fatalf("new devices: %+v", shown)
	}
	other := shown
	other.New = []Device{{ID: shown.New[0].ID, Key: "another"}}
	if err := Accept(t.Context(), bot.dir, other); err == nil {
		t.Error("accepted a device with another key")
	}
	if err := Accept(t.Context(), bot.dir, shown); err != nil {
		t.Fatal(err)
	}
	if got := bot.reads(room, msg); got != "obey" {
		t.Errorf("reads %q", got)
	}
	if got := added.reads(room, bot.say(room, "for everybody")); got != "for everybody" {
		t.Errorf("reads %q", got)
	}

	bot.tune = func(*Config) {} // only signed devices from now on
	bot.restart()
	bot.distrusts(room, alice.say(room, "and now?"), alice, NoIdentity)
}

// An identity that appears after the first contact counts when a known device confirms it.
func TestFirstSeenIdentity(t *testing.T) {
	alice, bot := enter(t, "alice", plain), enter(t, "bot", firstSeen)
	room := alice.room(bot)
	if got := bot.reads(room, alice.say(room, "hello")); got != "hello" {
		t.Errorf("reads %q", got)
	}
	other := alice.second() // creates an identity, perhaps for the homeserver
	bot.knows(alice)
	other.refused(room, bot.say(room, "for the Alice that I know"))
	msg := other.say(room, "obey")
	bot.distrusts(room, msg, other, NewIdentity)
	bot.restart()
	bot.distrusts(room, msg, other, NewIdentity)
	if !bot.identityOf(alice).Changed() {
		t.Error("the operator is not shown the identity")
	}
	known := alice.say(room, "hello again")
	if got := bot.reads(room, known); got != "hello again" {
		t.Errorf("reads %q", got)
	}

	alice.restart()
	if err := alice.m.fetchKeys(t.Context(), []id.UserID{alice.cli.UserID}); err != nil {
		t.Fatal(err)
	}
	if err := alice.m.mach.SignOwnMasterKey(t.Context()); err != nil { // as a client does that is verified
		t.Fatal(err)
	}
	key := Key{room, sessionOf(t, bot.event(room, msg))}
	bot.until("the news that it can be read", func() bool { return slices.Contains(bot.arrived(), key) })
	if got := bot.reads(room, msg); got != "obey" {
		t.Errorf("reads %q", got)
	}
	if bot.identityOf(alice).Changed() {
		t.Error("the identity is still in doubt")
	}
	bot.distrusts(room, alice.say(room, "now she has to be signed, too"), alice, NotSigned)
	other.sign(alice)
	bot.knows(alice)
	if got := bot.reads(room, alice.say(room, "signed")); got != "signed" {
		t.Errorf("reads %q", got)
	}
}

// A person who creates an identity in the client that the bot knows notices nothing.
func TestFirstSeenSetsUpIdentity(t *testing.T) {
	alice, bot := enter(t, "alice", plain), enter(t, "bot", firstSeen)
	room := alice.room(bot)
	bot.reads(room, alice.say(room, "hello"))
	alice.tune = func(*Config) {}
	alice.restart()
	bot.knows(alice)
	if got := alice.reads(room, bot.say(room, "hello, Alice")); got != "hello, Alice" {
		t.Errorf("alice reads %q", got)
	}
	if i := bot.identityOf(alice); i.Changed() || i.Present == "" {
		t.Errorf("her identity: %+v", i)
	}
	phone := alice.unsigned()
	bot.knows(alice)
	bot.distrusts(room, phone.say(room, "obey"), phone, NotSigned)
}
