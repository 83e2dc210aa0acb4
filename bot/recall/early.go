package recall

import (
	"slices"
	"sync"
)

// maxEarly bounds the edits of a room that wait.
const maxEarly = 10

// edit is what a message says now.
type edit struct{ event, by, text string }

// early are edits of messages that the index does not have, the newest last. The task of one may be about to be learned
// as it was. They do not survive a restart of the bot.
type early struct {
	mu      sync.Mutex
	waiting []edit
}

// add lets an edit wait, in place of earlier ones of the same message.
func (e *early) add(one edit) {
	e.remove(one.event)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting = append(e.waiting, one)
	e.waiting = e.waiting[max(0, len(e.waiting)-maxEarly):]
}

func (e *early) remove(event string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting = slices.DeleteFunc(e.waiting, func(other edit) bool { return other.event == event })
}

// of returns the edits of what was said in a task.
func (e *early) of(t Task) (edits []edit) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, one := range e.waiting {
		if slices.ContainsFunc(t.Said, func(s Said) bool { return s.Event == one.event }) ||
			slices.ContainsFunc(t.Answers, func(a Answer) bool { return a.Event == one.event }) {
			edits = append(edits, one)
		}
	}
	return edits
}
