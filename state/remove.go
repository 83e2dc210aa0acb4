package state

import (
	"context"
	"maps"
)

// Volumes returns a copy of the rooms that use another room's volumes, with that room.
func (s *Store) Volumes() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.now.volumes)
}

// RemoveRoom removes everything about a room: container, history, session, volumes and packages.
func (s *Store) RemoveRoom(ctx context.Context, room string) error {
	return s.update(ctx, func(c *contents) bool {
		_, changed := c.history[room]
		_, had := c.packages[room]
		changed = changed || had
		delete(c.history, room)
		delete(c.packages, room)
		for _, m := range []map[string]string{c.containers, c.sessions, c.resets, c.volumes, c.successors} {
			changed = put(m, room, "") || changed
		}
		return changed
	}, room)
}
