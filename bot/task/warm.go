package task

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"matrix-tui/sandbox"
	"matrix-tui/state/retry"
)

// Warm knows the parked runs of all rooms: agents that have been started for the next task before there is one. It is
// safe for concurrent use. A container ends its parked run on its own when the time is up, so that nothing here has to
// survive a restart.
type Warm struct {
	max  int           // rooms with a parked run; 0 = none
	time time.Duration // that a run is parked for after the last sign of life
	now  func() time.Time

	turn sync.Mutex // held while a run is started and initializes

	mu       sync.Mutex
	rooms    map[string]*parked
	starting int // tasks whose agent has not shown a sign of life
}

const (
	// settled is how long a room keeps its parked run after its last sign of life, whoever else wants one. Otherwise many
	// rooms at once would take it from each other again and again.
	settled = 30 * time.Second
	// initializing is about how long a parked run keeps a processor busy.
	initializing = time.Second
	quietPoll    = 50 * time.Millisecond
)

// parked is a room's parked run.
type parked struct {
	in      *sandbox.Container // nil while it is being started for the first time
	like    string             // what it was started for
	session string             // the session that it begins; "" if it resumes one
	busy    bool               // it is being started
	used    time.Time
	until   time.Time
}

// NewWarm returns a Warm for at most max rooms.
func NewWarm(max int, d time.Duration) *Warm {
	return &Warm{max: max, time: d, now: time.Now, rooms: map[string]*parked{}}
}

// begin notes a sign of life in a room, and reports whether a run has to be parked for it, or parked for longer. The
// caller then calls end. Victim is the container whose run has to give way first, or nil.
func (w *Warm) begin(room, like string) (start bool, victim *sandbox.Container) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	for id, p := range w.rooms {
		if !p.busy && !now.Before(p.until) {
			delete(w.rooms, id)
		}
	}
	own := w.rooms[room]
	switch {
	case w.max <= 0, own != nil && own.busy:
		return false, nil
	case own != nil && own.like == like && own.until.Sub(now) > w.time/2:
		own.used = now
		return false, nil
	}
	if own == nil {
		if len(w.rooms) >= w.max {
			oldest := w.oldest()
			if oldest == "" || now.Sub(w.rooms[oldest].used) < settled {
				return false, nil
			}
			victim = w.rooms[oldest].in
			delete(w.rooms, oldest)
		}
		own = &parked{}
		w.rooms[room] = own
	}
	own.busy, own.used = true, now
	return true, victim
}

// oldest returns the room that was used least recently, of those whose run is not being started. The caller holds mu.
func (w *Warm) oldest() (room string) {
	for id, p := range w.rooms {
		if !p.busy && (room == "" || cmp.Or(p.used.Compare(w.rooms[room].used), cmp.Compare(id, room)) < 0) {
			room = id
		}
	}
	return room
}

// end notes in which container a run was parked; nil if it was not.
func (w *Warm) end(room, like, session string, in *sandbox.Container) {
	w.mu.Lock()
	defer w.mu.Unlock()
	own := w.rooms[room]
	if in == nil {
		delete(w.rooms, room)
		return
	}
	if own == nil { // a task has started meanwhile
		own = &parked{used: w.now()}
		w.rooms[room] = own
	}
	own.in, own.busy, own.like, own.session, own.until = in, false, like, session, w.now().Add(w.time)
}

// sessionOf returns the new session that a room's parked run begins, or "".
func (w *Warm) sessionOf(room string) string {
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
}

// starts notes that a task is about to start its agent. The caller calls the result when the agent works, or later.
func (w *Warm) starts() (works func()) {
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
	return own != nil && !own.busy && w.now().Before(own.until)
}

// Count returns the number of rooms with a parked run.
func (w *Warm) Count() int { return len(w.Rooms()) }

// Rooms returns the rooms with a parked run, in order.
func (w *Warm) Rooms() (rooms []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, p := range w.rooms {
		if !p.busy && w.now().Before(p.until) {
			rooms = append(rooms, id)
		}
	}
	slices.Sort(rooms)
	return rooms
}
