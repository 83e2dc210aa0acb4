package bot

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/keyed"
)

// maxLearned bounds how many rooms' predecessors are remembered.
const maxLearned = 1000

// upgrades are the room upgrades that have not been followed yet: tombstones that are
// pending in the journal. A tombstone can name any room, so what is here is a claim of
// the old room. The zero value is empty.
type upgrades struct {
	entering keyed.Locks // per successor: locked while the bot joins or leaves it

	mu      sync.Mutex
	to      map[claim]string  // successor by tombstone
	learned map[string]string // what rooms themselves name as their predecessor, "" for none
	entered map[string]bool   // rooms that the bot has joined for a tombstone, and that it must leave if they replace another room
}

// claim is one tombstone.
type claim struct{ room, event string }

// isUpgrade reports whether an event names another room as the successor of its own.
func isUpgrade(row state.Event) bool {
	to := row.Body.Successor
	return row.Type == event.TypeTombstone && row.IsState(row.Type) && strings.HasPrefix(to, "!") && len(to) <= 255 && to != row.Room
}

// note notes a pending tombstone.
func (u *upgrades) note(row state.Event) {
	if !isUpgrade(row) {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.to == nil {
		u.to = map[claim]string{}
	}
	u.to[claim{row.Room, row.ID}] = row.Body.Successor
}

// end forgets a tombstone that is not pending any more.
func (u *upgrades) end(row state.Event) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.to, claim{row.Room, row.ID})
}

// endAll forgets all tombstones of a room and returns the successors they name.
func (u *upgrades) endAll(room string) (successors []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	maps.DeleteFunc(u.to, func(one claim, successor string) bool {
		if one.room == room {
			successors = append(successors, successor)
		}
		return one.room == room
	})
	return successors
}

// moves reports whether a room has a tombstone that names a successor.
func (u *upgrades) moves(room string) bool { return len(u.successors(room)) > 0 }

// successors returns the rooms that a room's tombstones name.
func (u *upgrades) successors(room string) (all []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for one, successor := range u.to {
		if one.room == room {
			all = append(all, successor)
		}
	}
	return all
}

// into returns the rooms that name this one as their successor, in order.
func (u *upgrades) into(room string) (from []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for one, successor := range u.to {
		if successor == room {
			from = append(from, one.room)
		}
	}
	slices.Sort(from)
	return slices.Compact(from)
}

// learn notes which room a room itself names as its predecessor, "" for none. That never changes.
func (u *upgrades) learn(room, before string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.learned == nil || len(u.learned) >= maxLearned {
		u.learned = map[string]string{}
	}
	u.learned[room] = before
}

// replaces returns what learn has noted.
func (u *upgrades) replaces(room string) (before string, known bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	before, known = u.learned[room]
	return before, known
}

// enter notes that the bot joins a room because a tombstone names it.
func (u *upgrades) enter(room string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.entered == nil || len(u.entered) >= maxLearned {
		u.entered = map[string]bool{}
	}
	u.entered[room] = true
}

// hasEntered reports what enter has noted, until settled.
func (u *upgrades) hasEntered(room string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.entered[room]
}

// settled forgets what enter has noted: the bot stays in the room, or has left it.
func (u *upgrades) settled(room string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.entered, room)
}

// wakeKnown wakes the workers of a room, if it has any.
func (b *Bot) wakeKnown(name string) {
	b.mu.Lock()
	r := b.rooms[name]
	b.mu.Unlock()
	if r != nil {
		r.wake()
	}
}

// resumeUpgrades reads the upgrades that have not been followed from the journal.
func (b *Bot) resumeUpgrades(ctx context.Context) error {
	tombstones, err := b.Journal.Events.PendingOf(ctx, event.TypeTombstone)
	if err != nil {
		return err
	}
	for _, row := range tombstones {
		b.upgrades.note(row)
	}
	return nil
}
