package upgrade

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"matrix-tui/state"
	"matrix-tui/state/event"
)

// claims are the room upgrades that have not been followed yet: tombstones that are
// pending in the journal. A tombstone can name any room, so what is here is a claim of
// the old room. The zero value is empty.
type claims struct {
	mu sync.Mutex
	to map[claim]string // successor by tombstone
}

// claim is one tombstone.
type claim struct{ room, event string }

// is reports whether an event names another room as the successor of its own.
func is(row state.Event) bool {
	to := row.Body.Successor
	return row.Type == event.TypeTombstone && row.IsState(row.Type) && strings.HasPrefix(to, "!") && len(to) <= 255 &&
		to != row.Room
}

// note notes a pending tombstone.
func (c *claims) note(row state.Event) {
	if !is(row) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.to == nil {
		c.to = map[claim]string{}
	}
	c.to[claim{row.Room, row.ID}] = row.Body.Successor
}

// end forgets a tombstone that is not pending any more.
func (c *claims) end(row state.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.to, claim{row.Room, row.ID})
}

// endAll forgets all tombstones of a room and returns the successors they name.
func (c *claims) endAll(room string) (successors []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.to, func(one claim, successor string) bool {
		if one.room == room {
			successors = append(successors, successor)
		}
		return one.room == room
	})
	return successors
}

// successors returns the rooms that a room's tombstones name.
func (c *claims) successors(room string) (all []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for one, successor := range c.to {
		if one.room == room {
			all = append(all, successor)
		}
	}
	return all
}

// into returns the rooms that name this one as their successor, in order.
func (c *claims) into(room string) (from []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for one, successor := range c.to {
		if successor == room {
			from = append(from, one.room)
		}
	}
	slices.Sort(from)
	return slices.Compact(from)
}

// Note notes a tombstone that is new, before a room works on any event of its batch.
func (s *Shared) Note(ctx context.Context, row state.Event) error {
	if !is(row) {
		return nil
	}
	_, err := s.Journal.Events.Get(ctx, row.Room, row.ID)
	if errors.Is(err, state.ErrNotFound) {
		s.claims.note(row)
		return nil
	}
	return err
}

// Drop forgets a tombstone that was noted and is not committed.
func (s *Shared) Drop(ctx context.Context, row state.Event) {
	if !is(row) {
		return
	}
	if _, err := s.Journal.Events.Get(ctx, row.Room, row.ID); errors.Is(err, state.ErrNotFound) {
		s.claims.end(row)
		s.wake(row.Body.Successor)
	}
}
