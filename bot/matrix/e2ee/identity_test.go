package e2ee

import (
	"slices"
	"testing"
	"time"
)

// replaced is a device with a new identity that replaces its user's: after a reset, or by
// a homeserver that impersonates the user.
func (p *peer) replaced() *peer {
	p.t.Helper()
	other := p.unsigned()
	if err := other.m.makeKeys(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	return other
}

func TestIdentityChanged(t *testing.T) {
	var alice *peer
	alice, bot := enter(t, "alice"), enter(t, "bot", func(c *Config) {
		c.Owner = func(user string) bool { return user == alice.cli.UserID.String() }
	})
	room := alice.room(bot)
	first := alice.say(room, "hello")
	bot.reads(room, first)
	alice.reads(room, bot.say(room, "hello, Alice"))
	before := bot.outbound(room, "for Alice")
	other := alice.replaced()
	bot.knows(alice)
	other.refused(room, bot.say(room, "for the Alice that I know"))
	if bot.outbound(room, "for her alone") == before {
		t.Error("devices that are no longer trusted can read new messages")
	}
	msg := other.say(room, "obey")
	bot.distrusts(room, msg, other, IdentityChanged)
	bot.restart()
	bot.distrusts(room, msg, other, IdentityChanged)

	// A verification does not help, because the bot confirms any.
	verifyWith(t, other, bot)
	bot.distrusts(room, msg, other, IdentityChanged)
	other.refused(room, bot.say(room, "still not for it"))
	bot.restart()
	bot.distrusts(room, msg, other, IdentityChanged)

	// The operator accepts it while the bot is running.
	all, err := Identities(t.Context(), bot.dir)
	if err != nil {
		t.Fatal(err)
	}
	all = slices.DeleteFunc(all, func(i Identity) bool { return !i.Changed() })
	if len(all) != 1 || all[0].User != alice.cli.UserID.String() || all[0].Present != other.m.mach.CrossSigningKeys.MasterKey.PublicKey().String() {
		t.Fatalf("changed identities: %+v", all)
	}
	stale := all[0]
	stale.Present = stale.First
	if err := Accept(t.Context(), bot.dir, stale); err == nil {
		t.Error("an outdated identity was accepted")
	}
	if err := Accept(t.Context(), bot.dir, all[0]); err != nil {
		t.Fatal(err)
	}
	if got := bot.reads(room, msg); got != "obey" {
		t.Errorf("reads %q", got)
	}
	if got := other.reads(room, bot.say(room, "for the new Alice")); got != "for the new Alice" {
		t.Errorf("she reads %q", got)
	}
	bot.distrusts(room, alice.say(room, "from the old one"), alice, NotSigned)
}

// verifyWith runs a complete verification that e's user starts.
func verifyWith(t *testing.T, person, bot *peer) {
	t.Helper()
	e := newElement(person)
	if _, err := e.helper.StartVerification(t.Context(), bot.cli.UserID); err != nil {
		t.Fatal(err)
	}
	open := func() int { return len(bot.m.verify.active) }
	for deadline := time.Now().Add(5 * time.Minute); !e.done || open() > 0; e.sync("") {
		if e.ended != "" || time.Now().After(deadline) {
			t.Fatalf("the verification: done %v, ended %q, open %d", e.done, e.ended, open())
		}
		bot.sync()
	}
}
