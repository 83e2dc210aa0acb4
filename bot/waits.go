package bot

import (
	"sync"
	"time"
)

// waits knows when each waiting task is to be looked at again: that is all a
// question holds in memory beside its record.
type waits struct {
	mu    sync.Mutex
	tasks map[string]wait // by task key
	rooms map[string]int
	news  chan struct{}
}

type wait struct {
	room   string
	asker  string // user ID; "" for a program
	thread string // root of the thread that it stands in; "" for none
	due    time.Time
	pinned bool // its question is known to be in the room
}

func newWaits() *waits {
	return &waits{tasks: map[string]wait{}, rooms: map[string]int{}, news: make(chan struct{}, 1)}
}

// set has a task looked at when it is due.
func (w *waits) set(key string, one wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if old, known := w.tasks[key]; !known || old.room != one.room {
		if known {
			w.forget(key, old)
		}
		w.rooms[one.room]++
	}
	w.tasks[key] = one
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// drop forgets a task that no longer waits.
func (w *waits) drop(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if old, known := w.tasks[key]; known {
		w.forget(key, old)
	}
}

// dropRoom forgets all tasks of a room.
func (w *waits) dropRoom(room string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, one := range w.tasks {
		if one.room == room {
			w.forget(key, one)
		}
	}
}

func (w *waits) forget(key string, old wait) {
	delete(w.tasks, key)
	if w.rooms[old.room]--; w.rooms[old.room] == 0 {
		delete(w.rooms, old.room)
	}
}

// unpinned gives a task whose question is not known to be in its room.
func (w *waits) unpinned(key string) (one wait, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one, known := w.tasks[key]
	return one, known && !one.pinned
}

// count is how many tasks of a room wait; total is how many of all.
func (w *waits) count(room string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rooms[room]
}

// askedOf tells whether a task of a user waits in a room, or one in a thread.
func (w *waits) askedOf(room, user, thread string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rooms[room] == 0 {
		return false
	}
	for _, one := range w.tasks {
		if one.room == room && (one.asker == user || thread != "" && one.thread == thread) {
			return true
		}
	}
	return false
}

func (w *waits) total() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.tasks)
}

// overdue tells whether something in the room is due.
func (w *waits) overdue(room string, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.tasks {
		if one.room == room && !one.due.After(now) {
			return true
		}
	}
	return false
}

// next gives the rooms that are due, and when the next one will be.
func (w *waits) next(now time.Time) (rooms []string, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at = now.Add(time.Hour)
	for _, one := range w.tasks {
		if !one.due.After(now) {
			rooms = append(rooms, one.room)
		} else if one.due.Before(at) {
			at = one.due
		}
	}
	return rooms, at
}
