package state

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/rs/zerolog"
)

// Store is state.json: for each room its container, what was said, the agent's
// session, and the executions. All methods can be called from any goroutine. A method that
// changes something returns when the change is on the disk; changes that come
// while one is being written share the next write. When a write is not
// possible (disk full, read-only) the error carries a sentence, the change
// stays in memory, and the next write takes it along.
type Store struct {
	path    string
	log     zerolog.Logger
	corrupt string // where a file that did not parse was moved

	writing chan struct{} // holds one token: whoever takes it writes

	mu       sync.Mutex
	now      *contents
	changed  uint64 // counts changes
	saved    uint64 // the change up to which the file is written
	attempts uint64 // counts writes that have begun
	lastErr  error  // of the newest attempt
}

// Container is the name of the room's container, "" when it has none.
func (s *Store) Container(room string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now.containers[room]
}

// Containers is a copy of all bindings, container names by room.
func (s *Store) Containers() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.now.containers)
}

// SetContainer binds a container to the room.
func (s *Store) SetContainer(ctx context.Context, room, name string) error {
	return s.update(ctx, func(c *contents) bool { return put(c.containers, room, name) })
}

// DropContainer forgets the room's container; its history and session stay.
func (s *Store) DropContainer(ctx context.Context, room string) error {
	return s.update(ctx, func(c *contents) bool { return put(c.containers, room, "") })
}

// Session is the ID of the agent's session in the room, "" when it has none.
func (s *Store) Session(room string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now.sessions[room]
}

// SetSession remembers the agent's session of the room; "" forgets it.
func (s *Store) SetSession(ctx context.Context, room, id string) error {
	return s.update(ctx, func(c *contents) bool { return put(c.sessions, room, id) })
}

// VolumesOf is the room whose volumes this room works on: itself, unless it is
// the successor of another.
func (s *Store) VolumesOf(room string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now.volumesOf(room)
}

func (c *contents) volumesOf(room string) string {
	if origin := c.volumes[room]; origin != "" {
		return origin
	}
	return room
}

// History is what was said in the room, oldest first, at most MaxTurns turns.
func (s *Store) History(room string) []Turn {
	s.mu.Lock()
	ts := s.now.history[room]
	s.mu.Unlock()
	return ts.decode()
}

// AppendHistory adds turns at the end of the room's history. A turn whose
// event and role are there already is not added again.
func (s *Store) AppendHistory(ctx context.Context, room string, more ...Turn) error {
	return s.update(ctx, func(c *contents) bool {
		ts, changed := c.history[room].with(more)
		if changed {
			c.history[room] = ts
		}
		return changed
	})
}

// SetHistory replaces the room's history; without turns the room has none.
func (s *Store) SetHistory(ctx context.Context, room string, all []Turn) error {
	return s.update(ctx, func(c *contents) bool {
		_, had := c.history[room]
		if len(all) == 0 {
			delete(c.history, room)
			return had
		}
		c.history[room], _ = turns(nil).with(all)
		return true
	})
}

// RestoreHistory fills the history of a room that has none, from HistoryFrom
// after a state.json that did not parse. A room that has one keeps it.
func (s *Store) RestoreHistory(ctx context.Context, room string, all []Turn) error {
	return s.update(ctx, func(c *contents) bool {
		if len(c.history[room]) > 0 || len(all) == 0 {
			return false
		}
		c.history[room], _ = turns(nil).with(all)
		return true
	})
}

// MoveRoom gives volumes, history, session and executions of a room to its
// successor (m.room.tombstone); what an execution says of its room stays as it
// is. The room's container is dropped, for it is labelled with the old
// room. What the successor has already stays: its own container with its
// volumes, and its session, win, and the old history goes before its own.
func (s *Store) MoveRoom(ctx context.Context, from, to string) error {
	if from == to {
		return nil
	}
	if to == "" {
		return errors.New("move room: no successor")
	}
	return s.update(ctx, func(c *contents) bool {
		_, changed := c.containers[from]
		known := changed || len(c.history[from]) > 0 || c.sessions[from] != "" || c.volumes[from] != ""
		delete(c.containers, from)
		if _, own := c.containers[to]; known && !own { // not known: moved already
			changed = put(c.volumes, to, c.volumesOf(from)) || changed
			changed = put(c.volumes, from, "") || changed
			changed = moveKey(c.sessions, from, to) || changed
		}
		changed = c.moveExecutions(from, to) || changed
		old, had := c.history[from]
		if !had {
			return changed
		}
		delete(c.history, from)
		if joined := append(slices.Clone(old), c.history[to]...); len(joined) > 0 {
			c.history[to] = joined.unique().window()
		}
		return true
	})
}

// Rooms is every room that the file knows, in order.
func (s *Store) Rooms() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	rooms := slices.Concat(
		slices.Collect(maps.Keys(s.now.containers)),
		slices.Collect(maps.Keys(s.now.history)),
		slices.Collect(maps.Keys(s.now.sessions)),
		slices.Collect(maps.Values(s.now.roomOf)),
	)
	slices.Sort(rooms)
	return slices.Compact(rooms)
}

// Corrupt is the path to which a state.json that did not parse was moved when
// the store was opened, "" when all was well.
func (s *Store) Corrupt() string { return s.corrupt }

// put sets a key, or removes it for "", and reports whether that was a change.
func put(m map[string]string, key, value string) bool {
	if m[key] == value {
		return false
	}
	if value == "" {
		delete(m, key)
	} else {
		m[key] = value
	}
	return true
}

func moveKey(m map[string]string, from, to string) bool {
	value, ok := m[from]
	if !ok {
		return false
	}
	delete(m, from)
	if m[to] == "" {
		m[to] = value
	}
	return true
}
