package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"

	"matrix-tui/bot/crash"
)

// Volumes returns a copy of the rooms that use another room's volumes, with that room.
func (s *Store) Volumes() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.now.volumes)
}

// RemoveRoom removes everything about a room: container, history, session, volumes, packages and executions.
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
		if _, had := c.executions[room]; had {
			c.setExecutions(room, nil)
			changed = true
		}
		return changed
	}, room)
}

// Remove removes a room's transcript. A missing one is no error.
func (t *Transcripts) Remove(room string) error {
	return t.each(room, "remove transcript", func(part string) error {
		crash.Count("remove transcript")
		if err := os.Remove(part); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

// each calls do for the files of a room's transcript, the older one first.
func (t *Transcripts) each(room, what string, do func(path string) error) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	path, err := t.path(room)
	if err != nil {
		return err
	}
	for _, part := range []string{path + ".1", path} {
		if err := do(part); err != nil {
			return explain(fmt.Errorf("%s: %w", what, err), part)
		}
	}
	return nil
}
