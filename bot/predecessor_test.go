package bot

import (
	"testing"
	"time"

	"matrix-tui/bot/admit"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// Tasks in the new room wait until the old room has moved, if the new one says that it replaces that one.
func TestTasksWaitForPredecessor(t *testing.T) {
	for before, waits := range map[string]bool{"!den:here": true, "!other:here": false} {
		d := newDeciding(t, everything)
		h := d.upgrading(before)
		h.joined[theHouse] = true
		d.text("$1", "@ann:here", "paint the shed", 0)
		d.decides()
		d.replaced("$2", theHouse)
		next := d.in(theHouse)
		for _, id := range []string{"$3", "$4"} {
			next.text(id, "@ann:here", "and the house", time.Minute)
			next.decides()
			if next.works(next.room) == waits {
				t.Errorf("the new room names %s: its task waits: %v", before, !waits)
			}
		}
		told, err := d.bot.Journal.Messages.Unsent(t.Context(), theHouse)
		var notices int
		for _, m := range told {
			if m.Kind == state.KindUpgrade {
				notices++
			}
		}
		if err != nil || waits != (notices == 1) {
			t.Errorf("the new room names %s: it is told %d times, %v", before, notices, err)
		}
		if !d.works(d.room) {
			t.Error("the old room does not finish its task")
		}
		first, err := d.bot.Journal.Tasks.Of(t.Context(), d.id, "$1")
		if err != nil {
			t.Fatal(err)
		}
		if err := d.bot.Journal.Tasks.Finish(t.Context(), first.Key); err != nil {
			t.Fatal(err)
		}
		d.works(d.room)
		if !next.works(next.room) || d.bot.Store.SuccessorOf(d.id) == theHouse != waits {
			t.Errorf("the new room names %s: it does not work in the end", before)
		}
	}
}

// Whoever may use the bot in the old room may invite it to the new one, if that is the new one.
func TestInviteToSuccessor(t *testing.T) {
	const policy = "defaults: {allow: []}\nrooms:\n  '!den:here':\n    allow: ['@bob:here']\n"
	for _, c := range []struct {
		name, sender, before string
		upgraded, joins      bool
	}{
		{"no upgrade", "@bob:here", "!den:here", false, false},
		{"upgrade", "@bob:here", "!den:here", true, true},
		{"upgrade of another room", "@bob:here", "!other:here", true, false},
		{"a stranger", "@eve:here", "!den:here", true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDeciding(t, policy)
			h := d.upgrading(c.before)
			h.closed = 99
			if c.upgraded {
				d.replaced("$1", theHouse)
				d.works(d.room)
			}
			if c.sender != "@eve:here" { // her invitation does not let the bot in: it declines before it joins
				h.open()
			}
			next := d.in(theHouse)
			invite := admit.Synthetic(theHouse, event.TypeInvite, c.sender, "s1", event.Body{Member: &event.Member{Membership: "invite"}})
			if _, err := d.bot.Journal.Events.Commit(t.Context(), "", []state.Event{invite}); err != nil {
				t.Fatal(err)
			}
			next.decides()
			if next.pending() != "" || h.in(theHouse) != c.joins {
				t.Errorf("in the new room: %v", h.in(theHouse))
			}
			if heard := d.bot.roster.MayUse(theHouse, c.sender, false).Heard; heard != c.joins {
				t.Errorf("heard in the new room: %v", heard)
			}
			h.open()
			d.bot.work.Wait() // the old room has tried again
			if d.works(d.room); d.bot.upgrades.Moves(d.id) {
				t.Error("the old room still moves")
			}
		})
	}
}
