package state

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/rs/zerolog"
)

// Store is what is known of each room, in parts: its container, conversation, agent session and packages. It is the
// table room of the journal; state.json shows containers, conversations and the volumes of upgraded rooms to people,
// and brings them back if the journal is lost. All methods can be called from any goroutine. A method that changes
// something returns when the change is in the journal; the file follows in the background. If a save fails (disk full,
// read-only), the error has a sentence, the change stays in memory, and the next save includes it. A change of a
// conversation that cannot be read is not made.
type Store struct {
	*live
	Containers    Containers
	Conversations Conversations
	Packages      Packages

	path    string                     // of state.json
	unknown map[string]json.RawMessage // keys of state.json that this release does not know
	log     zerolog.Logger
	corrupt string // where a file that did not parse was moved
	writing sync.Mutex

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
	editing sync.Mutex    // whoever holds it changes rooms; it is taken before mu, which nobody holds while reading
	saving  sync.Mutex    // whoever holds it saves
	stale   chan struct{} // holds one token while state.json is to be written

	mu      sync.Mutex
	rooms   map[string]room // its values are replaced, never changed in place
	changes int             // so far
	changed map[string]int  // rooms whose rows are to be written, with the number of their last change
}

// Corrupt returns the path to which a state.json that did not parse was moved when the store was opened, "" if there
// was none or the journal had all of it.
func (s *Store) Corrupt() string { return s.corrupt }

// VolumesOf returns the room whose volumes this room uses: itself, unless it is the successor of another.
func (s *Store) VolumesOf(room string) string { return cmp.Or(s.get(room).volumes, room) }

// Volumes returns the rooms that use another room's volumes, with that room.
func (s *Store) Volumes() map[string]string { return s.texts(func(r room) string { return r.volumes }) }

// Rooms returns every room that has a container, a history or a session, in order.
func (s *Store) Rooms() []string {
	known := s.texts(func(r room) string {
		if r.talked() {
			return "history"
		}
		return r.container + r.session
	})
	return slices.Sorted(maps.Keys(known))
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
	return s.change(ctx, []string{from, to}, func() {
		old, next := s.rooms[from], s.rooms[to]
		old.moveTo(from, &next)
		old.successor = to
		s.set(from, old)
		s.set(to, next)
	})
}

// RemoveRoom removes everything about a room: container, history, session, volumes and packages.
func (s *Store) RemoveRoom(ctx context.Context, id string) error {
	return s.update(ctx, id, func(r *room) { *r = room{} })
}

// maxUpgrades bounds how many upgrades of a room are followed.
const maxUpgrades = 100

// SuccessorOf returns the room that continues this one after all its upgrades: itself, if there was none.
func (s *Store) SuccessorOf(room string) string {
	for range maxUpgrades {
		next := s.get(room).successor
		if next == "" {
			break
		}
		room = next
	}
	return room
}

// Predecessors returns the rooms that this one continues, the newest first.
func (s *Store) Predecessors(id string) (all []string) {
	successors := s.texts(func(r room) string { return r.successor })
	for len(all) < maxUpgrades {
		before := ""
		for from, to := range successors {
			if to == id && from > before { // one, unless somebody has named this room for two
				before = from
			}
		}
		if before == "" {
			break
		}
		all, id = append(all, before), before
	}
	// An older release noted only the first room.
	if first := s.VolumesOf(id); first != id && len(all) < maxUpgrades {
		all = append(all, first)
	}
	return all
}

func (s *live) get(id string) room {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rooms[id]
}

// texts returns what of says about each room, without those about which it says nothing.
func (s *live) texts(of func(room) string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]string{}
	for id, r := range s.rooms {
		if text := of(r); text != "" {
			all[id] = text
		}
	}
	return all
}

// set replaces what is known of a room. The caller holds mu.
func (s *live) set(id string, r room) {
	if reflect.DeepEqual(r, s.rooms[id]) {
		return
	}
	s.changes++
	s.changed[id] = s.changes
	if s.rooms[id] = r; r.empty() {
		delete(s.rooms, id)
	}
}

// update changes one room, but not its history: see change.
func (s *live) update(ctx context.Context, id string, apply func(*room)) error {
	return s.change(ctx, nil, s.apply(id, apply))
}

// updateHistory changes one room and its history: see change.
func (s *live) updateHistory(ctx context.Context, id string, apply func(*room)) error {
	return s.change(ctx, []string{id}, s.apply(id, apply))
}

func (s *live) apply(id string, apply func(*room)) func() {
	return func() {
		r := s.rooms[id]
		apply(&r)
		s.set(id, r)
	}
}

// change applies a change, which calls set, and saves it together with what an earlier save could not. It reads the
// histories of these rooms before.
func (s *live) change(ctx context.Context, histories []string, apply func()) error {
	if err := s.applied(ctx, histories, apply); err != nil {
		return err
	}
	return s.Flush(ctx)
}

func (s *live) applied(ctx context.Context, histories []string, apply func()) error {
	s.editing.Lock() // from now on, a history changes no more
	defer s.editing.Unlock()
	read := map[string]turns{}
	for _, id := range histories {
		r := s.get(id)
		if !r.talked() {
			continue
		}
		// The change is to be made even if it is too late to save it.
		ts, err := s.journal.history(context.WithoutCancel(ctx), id)
		if err != nil {
			return err
		}
		read[id] = ts
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, ts := range read {
		if r := s.rooms[id]; r.unread { // otherwise memory has newer ones
			r.history, r.unread = ts, false
			s.rooms[id] = r
		}
	}
	apply()
	s.release(histories)
	return nil
}

// release leaves histories to the journal, unless they have changed and are not saved yet. The caller holds mu.
func (s *live) release(ids []string) {
	for _, id := range ids {
		if r := s.rooms[id]; s.changed[id] == 0 && len(r.history) > 0 {
			r.history, r.unread = nil, true
			s.rooms[id] = r
		}
	}
}

// Flush saves what has changed in memory only, if anything. It waits for a save in progress, which may include that.
func (s *live) Flush(ctx context.Context) error {
	s.saving.Lock()
	defer s.saving.Unlock()
	s.mu.Lock()
	clean := len(s.changed) == 0
	s.mu.Unlock()
	if clean {
		return nil
	}
	return s.save(ctx)
}

// save writes the rooms that have changed to the journal. They stay changed if that fails. The caller holds saving.
func (s *live) save(ctx context.Context) error {
	s.mu.Lock()
	rows, saved := map[string]room{}, maps.Clone(s.changed)
	for id := range saved {
		rows[id] = s.rooms[id]
	}
	s.mu.Unlock()
	if err := s.journal.saveRooms(ctx, rows); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, change := range saved {
		if s.changed[id] == change { // not again since
			delete(s.changed, id)
		}
	}
	s.release(slices.Collect(maps.Keys(saved)))
	s.markStale()
	return nil
}
