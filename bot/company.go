package bot

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"matrix-tui/bot/matrix"
	"matrix-tui/state/event"
)

// company knows how many members rooms have, from when somebody asked until a
// membership changes.
type company struct {
	mu      sync.Mutex
	members map[string]int // joined members by room, the bot included
	changes uint64
}

// of is the number of a room's members; ok is false when it is not known.
func (c *company) of(room string) (members int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	members, ok = c.members[room]
	return members, ok
}

// version changes with each call of forget.
func (c *company) version() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes
}

// learn notes a number that was asked for when version was v. It is dropped when
// a membership has changed since then.
func (c *company) learn(room string, v uint64, members int) {
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

// forget drops the number of a room in which a membership has changed.
func (c *company) forget(room string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	delete(c.members, room)
}

// noteMembers forgets the number of members where a batch changes it.
func (b *Bot) noteMembers(batch *matrix.Sync) {
	for name, joined := range batch.Joined {
		changed := joined.Limited
		for _, e := range slices.Concat(joined.State, joined.Timeline) {
			changed = changed || e.Type == event.TypeMember
		}
		if changed {
			b.company.forget(name)
		}
	}
	for _, name := range batch.Left {
		b.company.forget(name)
	}
}

// mayBeAlone tells whether the bot may have one person to itself in a room. It
// asks nobody: where the number of members is not known, it may.
func (b *Bot) mayBeAlone(room string) bool {
	members, known := b.company.of(room)
	return !known || members == 2
}

// isAlone tells whether the bot and one other person are a room's only members.
func (b *Bot) isAlone(ctx context.Context, room string) (bool, error) {
	if members, known := b.company.of(room); known {
		return members == 2, nil
	}
	v := b.company.version()
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	members, err := b.account.Members(call, room)
	if err != nil && (matrix.Transient(err) || ctx.Err() != nil) {
		return false, fmt.Errorf("list members: %w", err)
	}
	b.company.learn(room, v, len(members)) // none where the bot is not a member any more
	return len(members) == 2, nil
}
