// Package upgrade follows room upgrades: when a room's tombstone names a successor that names this room as its
// predecessor, the room's policy, the container's volumes, the history, open tasks and unsent messages move there.
// Until the bot is in the successor, the room goes on as before. It never decides what an event is.
package upgrade

import (
	"context"
	"slices"
	"sync"

	"matrix-tui/bot/alert"
	"matrix-tui/bot/matrix"
	"matrix-tui/bot/outbox"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/queue"
	"matrix-tui/bot/recall"
	"matrix-tui/bot/roster"
	"matrix-tui/bot/turn"
	"matrix-tui/sandbox/gateway"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// Shared is what the upgrades of all rooms share.
type Shared struct {
	Journal *state.Journal
	Store   *state.Store
	Account *matrix.Account
	Roster  *roster.Roster
	Policy  *policy.Source
	Recall  *recall.Memory
	Gateway *gateway.Gateway
	Alerts  *alert.Watch // tells the owners
	Group   *queue.Group

	claims claims
	mu     sync.Mutex
	rooms  map[string]*Room
}

// Room is the upgrade of one room. Its tombstone waits until the tasks before it have ended.
type Room struct {
	*Shared
	ID      string
	Turn    *turn.Turn
	Out     *outbox.Room
	Control *queue.Worker // decides what waits for the upgrade

	tombstone *state.Event       // nil for none; guarded by Turn
	stop      context.CancelFunc // ends the attempts to follow the tombstone; nil unless it waits; guarded by Turn
	stayed    string             // the tombstone that cannot be followed, as the owners were told; guarded by Turn
	refused   matrix.Refusals    // of the tasks worker
}

// Add lets the upgrades of other rooms wake a room, whose workers are ready.
func (s *Shared) Add(r *Room) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rooms == nil {
		s.rooms = map[string]*Room{}
	}
	s.rooms[r.ID] = r
}

// known returns a room, or nil if nothing has happened there.
func (s *Shared) known(id string) *Room {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rooms[id]
}

// wake wakes the workers of a room, if it has any.
func (s *Shared) wake(id string) {
	if r := s.known(id); r != nil {
		r.Control.Wake()
		r.Turn.Wake()
	}
}

// Resume reads the upgrades that have not been followed from the journal. Call it before the first room works.
func (s *Shared) Resume(ctx context.Context) error {
	tombstones, err := s.Journal.Events.PendingOf(ctx, event.TypeTombstone)
	for _, row := range tombstones {
		s.claims.note(row)
	}
	return err
}

// Next returns the room's tombstone if it is before the task that is up next; none means that there is no task. While
// blocked, no task starts. The caller holds the turn, and calls Enter.
func (r *Room) Next(next state.Task, none bool) (tombstone *state.Event, blocked bool) {
	half := slices.ContainsFunc(r.claims.successors(r.ID), r.hasLeftFor)
	switch {
	case r.tombstone == nil:
		return nil, half // until the control worker has come to the tombstone
	case r.stop != nil || !none && !half && (r.tombstone.Seq >= next.Seq || r.Turn.HasBegun(next)):
		return nil, false
	}
	r.Turn.Following = true
	return r.tombstone, false
}

// Moves reports whether a room has a tombstone that names a successor.
func (s *Shared) Moves(room string) bool { return len(s.claims.successors(room)) > 0 }

// Moves reports whether the room has a tombstone that names a successor.
func (r *Room) Moves() bool { return r.Shared.Moves(r.ID) }

// Forget forgets the room's tombstone, which has been finished. The caller holds the turn.
func (r *Room) Forget() { r.tombstone = nil }
