package container

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"matrix-tui/state/retry"
)

// Warm knows the parked runs of all rooms: agents that have been started for the next task before there is one. It is
// safe for concurrent use. A container ends its parked run on its own when the time is up. After a restart the
// containers say in which of them a run is parked: see adopt.
type Warm struct {
	max  int           // rooms with a parked run; 0 = none
	time time.Duration // that a run is parked for after the last sign of life
	now  func() time.Time

	turn chan struct{} // has an element while a run is started and initializes

	mu       sync.Mutex
	rooms    map[string]*parked
	failed   map[string]time.Time // when that was in rooms where no run can be parked
	starting int                  // tasks whose agent has not shown a sign of life
}

const (
	// settled is how long a room keeps its parked run after its last sign of life, whoever else wants one. Otherwise many
	// rooms at once would take it from each other again and again.
	settled = 30 * time.Second
	// initializing is about how long a parked run keeps a processor busy.
	initializing = time.Second
	quietPoll    = 50 * time.Millisecond
	// rechecked is how often a sign of life makes sure that a parked run is still there: the kernel may have ended
	// it. It is also how long none is parked after one could not be, for example because there are too many files to
	// look at.
	rechecked = 30 * time.Second
)

// parked is a room's parked run.
type parked struct {
	discard func(context.Context) error // nil while it is being started for the first time
	like    string                      // what it was started for
	session string                      // the session that it begins; "" if it resumes one
	busy    bool                        // it is being started, or looked after
	used    time.Time
	checked time.Time // when it was there
	until   time.Time
}

// there reports whether the run waits for a task, as far as is known.
func (p *parked) there(now time.Time) bool { return p.discard != nil && now.Before(p.until) }

// NewWarm returns a Warm for at most max rooms.
func NewWarm(max int, d time.Duration) *Warm {
	return &Warm{
		max: max, time: d, now: time.Now, turn: make(chan struct{}, 1),
		rooms: map[string]*parked{}, failed: map[string]time.Time{},
	}
}

// begin notes a sign of life in a room. If it returns a parked run, that has to be started, or must be found waiting,
// and waits longer then. The caller then calls end.
func (w *Warm) begin(room, like string) *parked {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	for id, p := range w.rooms {
		if !p.busy && !now.Before(p.until) {
			delete(w.rooms, id)
		}
	}
	maps.DeleteFunc(w.failed, func(_ string, at time.Time) bool { return now.Sub(at) >= rechecked })
	_, failed := w.failed[room]
	own := w.rooms[room]
	switch {
	case own != nil && own.busy, w.max <= 0, failed:
		return nil
	case own != nil && own.like == like && now.Sub(own.checked) < rechecked:
		own.used = now
		return nil
	}
	if own == nil {
		if len(w.rooms) >= w.max+len(w.victims(now)) {
			return nil
		}
		own = &parked{}
		w.rooms[room] = own
	}
	own.busy, own.used = true, now
	return own
}

// victims lists the rooms whose runs may give way to another one, the one that was used least recently first. The
// caller holds mu.
func (w *Warm) victims(now time.Time) (rooms []string) {
	for id, p := range w.rooms {
		if !p.busy && now.Sub(p.used) >= settled {
			rooms = append(rooms, id)
		}
	}
	slices.SortFunc(rooms, func(a, b string) int {
		return cmp.Or(w.rooms[a].used.Compare(w.rooms[b].used), cmp.Compare(a, b))
	})
	return rooms
}

// makeRoom reports whether a room's run may be parked. It may not if a task has forgotten it meanwhile: it would not
// count. If that of another room has to give way, makeRoom returns that: the caller discards it, and calls makeRoom
// again.
func (w *Warm) makeRoom(room string, own *parked) (gives *parked, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rooms[room] != own {
		return nil, false
	}
	if len(w.rooms) <= w.max {
		return nil, true
	}
	rooms := w.victims(w.now())
	if len(rooms) == 0 {
		return nil, false
	}
	gives = w.rooms[rooms[0]]
	delete(w.rooms, rooms[0])
	return gives, true
}

// adopt notes a run that an earlier process of the bot has parked in a room, until then at most. The first sign of life
// finds out whether it is of use. It is the first that gives way.
func (w *Warm) adopt(room string, until time.Time, discard func(context.Context) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	if w.rooms[room] != nil || !now.Before(until) {
		return
	}
	if limit := now.Add(w.time); until.After(limit) {
		until = limit
	}
	w.rooms[room] = &parked{discard: discard, until: until}
}

// end notes what came of a parked run: it waits in a container, or it does not. If a task has used or discarded it
// meanwhile, nothing is noted.
func (w *Warm) end(room string, own *parked, is parked) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rooms[room] != own {
		return
	}
	if is.discard == nil {
		delete(w.rooms, room)
		w.failed[room] = w.now()
		return
	}
	is.used, is.checked = own.used, w.now()
	*own = is
}

// leave ends a look after a run without a change: the host or the room has better things to do.
func (w *Warm) leave(room string, own *parked) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if own.busy = false; w.rooms[room] == own && own.discard == nil {
		delete(w.rooms, room)
	}
}

// take waits for its turn to start a run, and until no task is about to start its agent: that comes first. The caller
// calls the result when the run has initialized.
func (w *Warm) take(ctx context.Context) (done func(), err error) {
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	done = func() { <-w.turn }
	if err := w.quiet(ctx); err != nil {
		done()
		return nil, err
	}
	return done, nil
}

// SessionOf returns the new session that a room's parked run begins, or "".
func (w *Warm) SessionOf(room string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if own := w.rooms[room]; own != nil {
		return own.session
	}
	return ""
}

// Forget notes that a room's parked run is gone: a task uses or discards it, and it ends with its container.
func (w *Warm) Forget(room string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.rooms, room)
	delete(w.failed, room)
}

// Starts notes that a task is about to start its agent. The caller calls the result when the agent works, or later.
func (w *Warm) Starts() (works func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.starting++
	return sync.OnceFunc(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.starting--
	})
}

// quiet waits until no task is about to start its agent: that comes first.
func (w *Warm) quiet(ctx context.Context) error {
	for {
		w.mu.Lock()
		busy := w.starting > 0
		w.mu.Unlock()
		if !busy {
			return ctx.Err()
		}
		if err := retry.Sleep(ctx, quietPoll); err != nil {
			return err
		}
	}
}

// Has reports whether a run is parked in a room.
func (w *Warm) Has(room string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	own := w.rooms[room]
	return own != nil && own.there(w.now())
}

// Count returns the number of rooms with a parked run.
func (w *Warm) Count() int { return len(w.Rooms()) }

// Rooms returns the rooms with a parked run, in order.
func (w *Warm) Rooms() (rooms []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, p := range w.rooms {
		if p.there(w.now()) {
			rooms = append(rooms, id)
		}
	}
	slices.Sort(rooms)
	return rooms
}
