package e2ee

import (
	"strings"
	"testing"
)

func TestBothDirections(t *testing.T) {
	alice, bot := enter(t, "alice"), enter(t, "bot")
	room := alice.room(bot)
	for _, words := range []struct {
		from, to *peer
		text     string
	}{{alice, bot, "write a prime checker"}, {bot, alice, "done"}, {alice, bot, "thanks"}, {bot, alice, "welcome"}} {
		id := words.from.say(room, words.text)
		if raw := words.to.event(room, id); strings.Contains(string(raw), words.text) || !strings.Contains(string(raw), "m.room.encrypted") {
			t.Errorf("the homeserver can read the message: %s", raw)
		}
		if got := words.to.reads(room, id); got != words.text {
			t.Errorf("reads %q, want %q", got, words.text)
		}
		if got := words.from.reads(room, id); got != words.text {
			t.Errorf("the sender reads %q, want %q", got, words.text)
		}
	}
}
