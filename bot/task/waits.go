package task

import (
	"sync"
	"time"
)

// Waits knows when each waiting task is to be looked at again: that is all a
// question holds in memory beside its record.
type Waits struct {
	mu    sync.Mutex
	tasks map[string]Wait // by task key
	rooms map[string]int
	News  chan struct{} // gets a value when a task was set
}

// Wait is one task that waits.
type Wait struct {
	Room   string
	Asker  string // user ID; "" for a program
	Thread string // root of the thread that it after in; "" for none
	Due    time.Time
	Pinned bool // its question is known to be in the room
}

// NewWaits knows of no task yet.
func NewWaits() *Waits {
	return &Waits{tasks: map[string]Wait{}, rooms: map[string]int{}, News: make(chan struct{}, 1)}
}

// Set has a task looked at when it is due.
func (w *Waits) Set(key string, one Wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if old, known := w.tasks[key]; !known || old.Room != one.Room {
		if known {
			w.forget(key, old)
		}
		w.rooms[one.Room]++
	}
	w.tasks[key] = one
	select {
	case w.News <- struct{}{}:
	default:
	}
}

// Drop forgets a task that no longer waits.
func (w *Waits) Drop(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if old, known := w.tasks[key]; known {
		w.forget(key, old)
	}
}

// DropRoom forgets all tasks of a room.
func (w *Waits) DropRoom(room string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, one := range w.tasks {
		if one.Room == room {
			w.forget(key, one)
		}
	}
}

func (w *Waits) forget(key string, old Wait) {
	delete(w.tasks, key)
	if w.rooms[old.Room]--; w.rooms[old.Room] == 0 {
		delete(w.rooms, old.Room)
	}
}

// Unpinned gives a task whose question is not known to be in its room.
func (w *Waits) Unpinned(key string) (one Wait, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one, known := w.tasks[key]
	return one, known && !one.Pinned
}

// Count is how many tasks of a room wait.
func (w *Waits) Count(room string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rooms[room]
}

// AskedOf reports whether a task of a user waits in a room, or one in a thread.
func (w *Waits) AskedOf(room, user, thread string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rooms[room] == 0 {
		return false
	}
	for _, one := range w.tasks {
		if one.Room == room && (one.Asker == user || thread != "" && one.Thread == thread) {
			return true
		}
	}
	return false
}

// Total is how many tasks of all rooms wait.
func (w *Waits) Total() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.tasks)
}

// Overdue reports whether something in the room is due.
func (w *Waits) Overdue(room string, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.tasks {
		if one.Room == room && !one.Due.After(now) {
			return true
		}
	}
	return false
}

// Next gives the rooms that are due, and when the next one will be.
func (w *Waits) Next(now time.Time) (rooms []string, at time.Time) {
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
