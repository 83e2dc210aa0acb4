package state

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/rs/zerolog"
)

// Store is what is known of each room, in parts: its container, conversation, agent session and packages. It is the
// table room of the journal; state.json shows containers, conversations and the volumes of upgraded rooms to people,
// and brings them back if the journal is lost. All methods can be called from any goroutine. A method that changes
// something returns when the change is in the journal; changes that arrive during a transaction share the next one, and
// the file follows in the background. If a save fails (disk full, read-only), the error has a sentence, the change
// stays in memory, and the next save includes it.
type Store struct {
	*live
	Containers    Containers
	Conversations Conversations
	Packages      Packages

	path    string // of state.json
	log     zerolog.Logger
	corrupt string // where a file that did not parse was moved

	closing chan struct{}
	ended   sync.Once
	keeper  sync.WaitGroup
}

// The parts of a [Store].
type (
	Containers    struct{ *live } // Containers are the names of the rooms' containers.
	Conversations struct{ *live } // Conversations are history and agent session of the rooms.
	Packages      struct{ *live } // Packages are what an agent has installed in a room's container.
)

// live is what the parts share: the rooms as they are now, and what of them is saved.
type live struct {
	journal *Journal
	writing chan struct{} // holds one token: whoever takes it saves
	stale   chan struct{} // holds one token while state.json is to be written

	mu       sync.Mutex
	now      *contents
	shown    bool   // something that state.json shows has changed since the last save
	dirty    uint64 // counts changes
	saved    uint64 // the change up to which they are saved
	attempts uint64 // counts saves that have started
	lastErr  error  // of the newest attempt
}

// Of returns the name of the room's container, "" if it has none.
func (s Containers) Of(room string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now.containers[room]
}

// All returns a copy of all container names by room.
func (s Containers) All() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.now.containers)
}

// Set sets the room's container.
func (s Containers) Set(ctx context.Context, room, name string) error {
	return s.update(ctx, func(c *contents) bool { return put(c.containers, room, name) }, room)
}

// Drop removes the room's container; its history and session stay.
func (s Containers) Drop(ctx context.Context, room string) error {
	return s.update(ctx, func(c *contents) bool { return put(c.containers, room, "") }, room)
}

// Session returns the ID of the agent's session in the room, "" if it has none.
func (s Conversations) Session(room string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now.sessions[room]
}

// SetSession stores the agent's session of the room; "" removes it.
func (s Conversations) SetSession(ctx context.Context, room, id string) error {
	return s.update(ctx, func(c *contents) bool { return put(c.sessions, room, id) }, room)
}

// EndSession removes the agent's session of the room for somebody who wants a new one. A task that began earlier sees
// that in SessionMark.
func (s Conversations) EndSession(ctx context.Context, room string) error {
	return s.update(ctx, func(c *contents) bool {
		c.endSession(room)
		return true
	}, room)
}

func (c *contents) endSession(room string) {
	delete(c.sessions, room)
	c.resets[room] = rand.Text()
}

// SessionMark returns the agent's session of the room. If it has none, it returns what distinguishes the time since the
// last EndSession from the time before: "" if there was none.
func (s Conversations) SessionMark(room string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	session, reset := s.now.sessions[room], s.now.resets[room]
	if session == "" && reset != "" {
		return "none " + reset
	}
	return session
}

// VolumesOf returns the room whose volumes this room uses: itself, unless it is the successor of another.
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

// History returns the conversation in the room, oldest first, at most MaxTurns turns.
func (s Conversations) History(room string) []Turn {
	s.mu.Lock()
	ts := s.now.history[room]
	s.mu.Unlock()
	return ts.decode()
}

// Append adds turns at the end of the room's history. A turn whose event and role already exist is not added
// again.
func (s Conversations) Append(ctx context.Context, room string, more ...Turn) error {
	return s.update(ctx, func(c *contents) bool {
		ts, changed := c.history[room].with(more)
		if changed {
			c.history[room] = ts
		}
		return changed
	}, room)
}

// Set replaces the room's history; without turns the room has none.
func (s Conversations) Set(ctx context.Context, room string, all []Turn) error {
	return s.update(ctx, func(c *contents) bool {
		_, had := c.history[room]
		if len(all) == 0 {
			delete(c.history, room)
			return had
		}
		c.history[room], _ = turns(nil).with(all)
		return true
	}, room)
}

// MoveRoom moves volumes, history and session of a room to its successor (m.room.tombstone). The room's container is
// dropped, because its label names the old room. What the successor already has stays: its own container with its
// volumes, and its session, win, and the old history comes before its own.
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
		if _, own := c.containers[to]; known && !own { // unknown: moved already
			changed = put(c.volumes, to, c.volumesOf(from)) || changed
			changed = put(c.volumes, from, "") || changed
			changed = moveKey(c.sessions, from, to) || changed
			changed = moveKey(c.resets, from, to) || changed
			changed = c.addPackages(to, c.packages[from]) || changed
		}
		changed = put(c.successors, from, to) || changed
		delete(c.packages, from)
		old, had := c.history[from]
		if !had {
			return changed
		}
		delete(c.history, from)
		if joined := append(slices.Clone(old), c.history[to]...); len(joined) > 0 {
			c.history[to] = joined.unique().window()
		}
		return true
	}, from, to)
}

// Rooms returns every room that is known, in order.
func (s *Store) Rooms() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	rooms := slices.Concat(
		slices.Collect(maps.Keys(s.now.containers)),
		slices.Collect(maps.Keys(s.now.history)),
		slices.Collect(maps.Keys(s.now.sessions)),
	)
	slices.Sort(rooms)
	return slices.Compact(rooms)
}

// Corrupt returns the path to which a state.json that did not parse was moved when the store was opened, "" if there
// was none or the journal had all of it.
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
