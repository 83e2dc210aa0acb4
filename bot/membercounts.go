package bot

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"matrix-tui/bot/matrix"
	"matrix-tui/state/event"
)

// memberCounts caches the number of members of rooms until a membership changes.
type memberCounts struct {
	mu      sync.Mutex
	members map[string]int // joined members by room, the bot included
	changes uint64
}

// of returns the number of a room's members; ok is false if it is not known.
func (c *memberCounts) of(room string) (members int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	members, ok = c.members[room]
	return members, ok
}

// version returns a number that changes with each call of forget.
func (c *memberCounts) version() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes
}

// learn stores a number that was requested when version was v. It does nothing if
// a membership has changed since.
func (c *memberCounts) learn(room string, v uint64, members int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes != v {
		return
	}
	if c.members == nil {
		c.members = map[string]int{}
	}
	c.members[room] = members
}

// forget drops the number of a room in which a membership changed.
func (c *memberCounts) forget(room string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	delete(c.members, room)
}

// noteMembers forgets the numbers that a batch may have changed.
func (b *Bot) noteMembers(batch *matrix.Sync) {
	for name, joined := range batch.Joined {
		changed := joined.Limited
		for _, e := range slices.Concat(joined.State, joined.Timeline) {
			changed = changed || e.Type == event.TypeMember
		}
		if changed {
			b.members.forget(name)
		}
	}
	for _, name := range batch.Left {
		b.members.forget(name)
	}
}

// mayBeAlone reports whether the bot and one other person may be a room's only
// members. It makes no request: if the number is not known, the answer is true.
func (b *Bot) mayBeAlone(room string) bool {
	members, known := b.members.of(room)
	return !known || members == 2
}

// isAlone reports whether the bot and one other person are a room's only members.
func (b *Bot) isAlone(ctx context.Context, room string) (bool, error) {
	if members, known := b.members.of(room); known {
		return members == 2, nil
	}
	v := b.members.version()
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	members, err := b.account.Members(call, room)
	if err != nil && (matrix.Transient(err) || ctx.Err() != nil) {
		return false, fmt.Errorf("list members: %w", err)
	}
	b.members.learn(room, v, len(members)) // 0 if the bot is no longer a member
	return len(members) == 2, nil
}
