// Package pending knows the tasks that wait for an answer, and when each of them is due.
package pending

import (
	"maps"
	"sync"
	"time"
)

// Schedule says when each waiting task needs to be looked at. It is all that an open
// question keeps in memory.
type Schedule struct {
	mu    sync.Mutex
	tasks map[string]Wait // by task key
	News  chan struct{}   // receives a value after Set
}

// Wait is one waiting task.
type Wait struct {
	Room   string
	Asker  string // user ID; "" for HTTP
	Thread string // root of its thread, or ""
	Due    time.Time
	Pinned bool // the event of its question is recorded
}

// New returns an empty schedule.
func New() *Schedule {
	return &Schedule{tasks: map[string]Wait{}, News: make(chan struct{}, 1)}
}

// Set adds or replaces a task.
func (w *Schedule) Set(key string, one Wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tasks[key] = one
	select {
	case w.News <- struct{}{}:
	default:
	}
}

// Drop removes a task.
func (w *Schedule) Drop(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.tasks, key)
}

// DropRoom removes all tasks of a room.
func (w *Schedule) DropRoom(room string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.tasks, func(_ string, one Wait) bool { return one.Room == room })
}

// Unpinned returns a task if the event of its question is not recorded yet.
func (w *Schedule) Unpinned(key string) (one Wait, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one, known := w.tasks[key]
	return one, known && !one.Pinned
}

// Count returns the number of a room's waiting tasks.
func (w *Schedule) Count(room string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.tasks {
		if one.Room == room {
			n++
		}
	}
	return n
}

// AskedOf reports whether a task waits in a room for user, or in thread if not "".
func (w *Schedule) AskedOf(room, user, thread string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.tasks {
		if one.Room == room && (one.Asker == user || thread != "" && one.Thread == thread) {
			return true
		}
	}
	return false
}

// Total returns the number of waiting tasks in all rooms.
func (w *Schedule) Total() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.tasks)
}

// Overdue reports whether a task of the room is due.
func (w *Schedule) Overdue(room string, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.tasks {
		if one.Room == room && !one.Due.After(now) {
			return true
		}
	}
	return false
}

// Next returns the rooms with a due task, one entry per task, and when to call it again.
func (w *Schedule) Next(now time.Time) (rooms []string, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at = now.Add(time.Hour)
	for _, one := range w.tasks {
		if !one.Due.After(now) {
			rooms = append(rooms, one.Room)
		} else if one.Due.Before(at) {
			at = one.Due
		}
	}
	return rooms, at
}
