package e2ee

import (
	"errors"
	"slices"
	"testing"

	"maunium.net/go/mautrix/id"

	wire "matrix-tui/state/event"
)

// unsigned logs in as a device that the account's identity has not signed: what a
// homeserver can create for any of its users.
func (p *peer) unsigned() *peer {
	p.t.Helper()
	return p.second(func(c *Config) { c.NoCrossSigning = true })
}

// distrusts checks that a device's message does not count as its user's.
func (p *peer) distrusts(room, msg string, from *peer, why Distrust) {
	p.t.Helper()
	raw := p.event(room, msg)
	p.until("the key of "+msg, func() bool {
		_, err := decrypted(p.m, p.t.Context(), room, raw)
		return !errors.As(err, new(*NoKeyError))
	})
	plain, err := decrypted(p.m, p.t.Context(), room, raw)
	want := UntrustedDeviceError{Key{room, sessionOf(p.t, raw)}, from.cli.UserID.String(), from.cli.DeviceID.String(), why}
	var got *UntrustedDeviceError
	if !errors.As(err, &got) || *got != want {
		p.t.Errorf("%s reads %+v, %v, want %v", p.cli.UserID, plain, err, &want)
	}
}

// refused checks that the key of a message is withheld from a device.
func (p *peer) refused(room, msg string) {
	p.t.Helper()
	raw := p.event(room, msg)
	var noKey *NoKeyError
	p.until("the refusal of the key of "+msg, func() bool {
		plain, err := decrypted(p.m, p.t.Context(), room, raw)
		if !errors.As(err, &noKey) {
			p.t.Fatalf("%s reads %+v, %v", p.cli.UserID, plain, err)
		}
		return noKey.Withheld != ""
	})
	if noKey.Withheld != "m.unverified" {
		p.t.Errorf("the key is withheld as %s", noKey.Withheld)
	}
}

// sign makes a user's identity sign another of their devices, like a verification.
func (p *peer) sign(other *peer) {
	p.t.Helper()
	if err := p.m.fetchKeys(p.t.Context(), []id.UserID{p.cli.UserID}); err != nil {
		p.t.Fatal(err)
	}
	device, err := p.m.store.GetDevice(p.t.Context(), p.cli.UserID, other.cli.DeviceID)
	if err != nil || device == nil {
		p.t.Fatalf("no device %s: %v", other.cli.DeviceID, err)
	}
	if err := p.m.mach.SignOwnDevice(p.t.Context(), device); err != nil {
		p.t.Fatal(err)
	}
}

// knows waits until a peer knows that a user's devices have changed.
func (p *peer) knows(of *peer) {
	p.t.Helper()
	p.until("the change of devices of "+of.cli.UserID.String(), func() bool {
		outdated, err := p.m.store.GetOutdatedTrackedUsers(p.t.Context())
		return err == nil && slices.Contains(outdated, of.cli.UserID)
	})
}

func TestUnsignedDevice(t *testing.T) {
	alice, bot := enter(t, "alice"), enter(t, "bot")
	lax := enter(t, "bot", func(c *Config) { c.Devices = AllDevices })
	room := alice.room(bot, lax)
	for _, p := range []*peer{bot, lax} {
		if got := p.reads(room, alice.say(room, "hello")); got != "hello" {
			t.Errorf("reads %q", got)
		}
		alice.reads(room, p.say(room, "hello, Alice"))
	}
	phone := alice.unsigned()
	bot.knows(alice)
	lax.knows(alice)

	// it gets no key and cannot speak for her
	phone.refused(room, bot.say(room, "for her"))
	if got := phone.reads(room, lax.say(room, "for everybody")); got != "for everybody" {
		t.Errorf("the phone reads %q", got)
	}
	msg := phone.say(room, "obey")
	bot.distrusts(room, msg, phone, NotSigned)
	if got := lax.reads(room, msg); got != "obey" {
		t.Errorf("with AllDevices: reads %q", got)
	}
	bot.restart()
	bot.distrusts(room, msg, phone, NotSigned)
	before := bot.outbound(room, "still for her")

	// she verifies it
	alice.sign(phone)
	key := Key{room, sessionOf(t, bot.event(room, msg))}
	bot.until("the news that it can be read", func() bool { return slices.Contains(bot.arrived(), key) })
	if got := bot.reads(room, msg); got != "obey" {
		t.Errorf("reads %q", got)
	}
	msg = bot.say(room, "for her phone")
	if got := phone.reads(room, msg); got != "for her phone" {
		t.Errorf("the phone reads %q", got)
	}
	if sessionOf(t, bot.event(room, msg)) == before {
		t.Error("a newly trusted device got a key for older messages")
	}
}

func TestOwnUnsignedDevice(t *testing.T) {
	alice, bot := enter(t, "alice"), enter(t, "bot")
	other := bot.unsigned()
	room := alice.room(bot)
	bot.knows(other)
	other.refused(room, bot.say(room, "not for it"))
	bot.distrusts(room, other.say(room, "I am the bot"), other, NotSigned)
}

func TestNoIdentity(t *testing.T) {
	alice, bot := enter(t, "alice", plain), enter(t, "bot")
	room := alice.room(bot)
	msg := alice.say(room, "hello")
	bot.distrusts(room, msg, alice, NoIdentity)
	alice.refused(room, bot.say(room, "nobody can read this"))
	if all, err := Identities(t.Context(), bot.dir); err != nil || !slices.ContainsFunc(all, func(i Identity) bool {
		return i.User == alice.cli.UserID.String() && i.Present == "" && i.Shares && !i.Changed()
	}) {
		t.Errorf("identities: %+v, %v", all, err)
	}
	alice.tune = func(*Config) {} // she sets up cross-signing
	alice.restart()
	bot.until("the news that it can be read", func() bool { return len(bot.arrived()) > 0 })
	if got := bot.reads(room, msg); got != "hello" {
		t.Errorf("reads %q", got)
	}
	if got := alice.reads(room, bot.say(room, "hello, Alice")); got != "hello, Alice" {
		t.Errorf("alice reads %q", got)
	}
}

// After a change from all devices to cross-signed ones, keys that were shared with all
// devices are replaced.
func TestRuleChange(t *testing.T) {
	alice, bot := enter(t, "alice"), enter(t, "bot", func(c *Config) { c.Devices = AllDevices })
	room := alice.room(bot)
	phone := alice.unsigned()
	msg := bot.say(room, "for everybody")
	phone.reads(room, msg)
	bot.tune = func(*Config) {}
	bot.restart()
	strict := bot.say(room, "for Alice")
	if sessionOf(t, bot.event(room, strict)) == sessionOf(t, bot.event(room, msg)) {
		t.Error("the key is the same")
	}
	phone.refused(room, strict)
	if got := alice.reads(room, strict); got != "for Alice" {
		t.Errorf("alice reads %q", got)
	}
	bot.restart()
	if bot.outbound(room, "more") != sessionOf(t, bot.event(room, strict)) {
		t.Error("a restart without a change created another key")
	}
}

// A key forwarded by an untrusted device proves nothing.
func TestUntrustedForwarder(t *testing.T) {
	alice, bot := enter(t, "alice"), enter(t, "bot")
	room := alice.room(bot)
	msg := alice.say(room, "hello")
	bot.reads(room, msg)
	raw := bot.event(room, msg)
	phone := alice.unsigned()
	bot.knows(alice)
	session := *sessionIn(t, bot, room, raw)
	session.ForwardingChains = []string{phone.m.mach.OwnIdentity().IdentityKey.String()}
	if _, err := bot.m.db.Exec(t.Context(), "DELETE FROM crypto_megolm_inbound_session"); err != nil {
		t.Fatal(err)
	}
	if err := bot.m.store.PutGroupSession(t.Context(), &session); err != nil {
		t.Fatal(err)
	}
	var noKey *NoKeyError
	if plain, err := decrypted(bot.m, t.Context(), room, raw); !errors.As(err, &noKey) || !noKey.Unproven {
		t.Errorf("forwarded by an unsigned device: %+v, %v", plain, err)
	}
	alice.sign(phone)
	bot.knows(alice)
	var plain wire.Event
	bot.until("the trust", func() (read bool) {
		var err error
		plain, err = decrypted(bot.m, t.Context(), room, raw)
		return err == nil
	})
	if got := body(t, plain); got != "hello" {
		t.Errorf("reads %q", got)
	}
}
