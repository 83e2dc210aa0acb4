package bot

import (
	"context"
	"slices"
	"sync"

	"matrix-tui/state"
	"matrix-tui/state/event"
)

// upgrades are the room upgrades that have not been followed yet: tombstones that are
// pending in the journal. A tombstone can name any room, so what is here is a claim of
// the old room. The zero value is empty.
type upgrades struct {
	mu sync.Mutex
	to map[string]string // successor by old room
}

// note notes a tombstone, in place of an earlier one of the room.
func (u *upgrades) note(row state.Event) {
	if !isUpgrade(row) {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.to == nil {
		u.to = map[string]string{}
	}
	u.to[row.Room] = row.Body.Successor
}

// isUpgrade reports whether an event names another room as the successor of its own.
func isUpgrade(row state.Event) bool {
	return row.Type == event.TypeTombstone && row.IsState(row.Type) && row.Body.Successor != "" && row.Body.Successor != row.Room
}

// end forgets a room's upgrade to a successor.
func (u *upgrades) end(room, successor string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.to[room] == successor {
		delete(u.to, room)
	}
}

// of returns the successor of a room, or "".
func (u *upgrades) of(room string) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.to[room]
}

// into returns the rooms that name this one as their successor, in order.
func (u *upgrades) into(room string) (from []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for old, successor := range u.to {
		if successor == room {
			from = append(from, old)
		}
	}
	slices.Sort(from)
	return from
}

// resumeUpgrades reads the upgrades that have not been followed from the journal.
func (b *Bot) resumeUpgrades(ctx context.Context) error {
	tombstones, err := b.Journal.PendingOf(ctx, event.TypeTombstone)
	if err != nil {
		return err
	}
	for _, row := range tombstones {
		b.upgrades.note(row)
	}
	return nil
}
