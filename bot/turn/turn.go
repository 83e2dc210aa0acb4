// Package turn knows whose turn it is in a room: which task its worker has claimed, which one is next, and what keeps
// it from starting. Whoever decides about a room's tasks holds its lock meanwhile. It decides nothing about events and
// sends nothing.
package turn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"matrix-tui/bot/queue"
	"matrix-tui/bot/task"
	"matrix-tui/state"
)

// Turn is the turn of one room. Its lock is held while a decision that several workers may make is taken and stored:
// whether a message is an answer, what to stop, which task is next. Never call the homeserver or podman while holding
// it.
type Turn struct {
	sync.Mutex
	Env       *task.Env
	Worker    queue.Worker // runs the room's tasks
	Following bool         // the worker follows a tombstone now; guarded by the lock

	held bool // no task starts: see Hold; guarded by the lock

	mu      sync.Mutex
	current *task.Work  // the task that the worker has claimed; nil for none
	due     *time.Timer // wakes the worker when the task that is up next is due; nil if none was
}

// Wake makes the worker look for work.
func (t *Turn) Wake() { t.Worker.Wake() }

// Finish ends an event of the room.
func (t *Turn) Finish(ctx context.Context, row state.Event) error {
	return t.Env.Journal.Events.Finish(ctx, t.Env.ID, row.ID)
}

// Claim makes w the current task.
func (t *Turn) Claim(w *task.Work) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.current = w
}

// Leave closes the current task.
func (t *Turn) Leave(w *task.Work) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w.Close()
	t.current = nil
}

// Current returns the task that the worker has claimed, or nil.
func (t *Turn) Current() *task.Work {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.current
}

// Busy reports whether there is a current task other than the one with this key.
func (t *Turn) Busy(other string) bool {
	w := t.Current()
	return w != nil && w.Key() != other
}

// Signal makes the current task read its record again if it has this key, and shows note as its progress.
func (t *Turn) Signal(key, note string) {
	if w := t.Current(); w != nil && w.Key() == key {
		w.Stop(note)
	}
}

// Abandon ends the current task; its run stops with the container.
func (t *Turn) Abandon() {
	if w := t.Current(); w != nil {
		w.Abandon()
	}
}

// AwaitEnd waits until a task whose result was sent is finished in the state, too. It returns at once for a task
// without a result.
func (t *Turn) AwaitEnd(ctx context.Context) error {
	w := t.Current()
	if w == nil {
		return nil
	}
	rec, err := t.Env.Journal.Tasks.Get(ctx, w.Key())
	if err != nil {
		return fmt.Errorf("read running task: %w", err)
	}
	if rec.State != state.TaskAnswered && rec.State != state.TaskDone {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	select {
	case <-w.Done():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the task to finish: %w", ctx.Err())
	}
}

// dueEvery is how often the worker checks whether a task is due: the clock or the policy may have changed.
const dueEvery = time.Minute

// WakeAt wakes the worker at a time, or earlier. The caller holds the lock.
func (t *Turn) WakeAt(at time.Time) {
	wait := min(at.Sub(t.Env.Clock.Now()), dueEvery)
	if t.due == nil {
		t.due = time.AfterFunc(wait, t.Wake)
	}
	t.due.Reset(wait)
}

// UpNext returns the task that the worker takes up: the one that has begun, or else the oldest. After a restart, an
// older task may have got its answer while another one was running, and two runs at once would mix up their session.
// The error is [state.ErrNotFound] if there is none.
func (t *Turn) UpNext(ctx context.Context) (state.Task, error) {
	answered, err := t.Env.Journal.Tasks.In(ctx, t.Env.ID, state.TaskAnswered)
	if err != nil {
		return state.Task{}, err
	}
	running, err := t.Env.Journal.Tasks.In(ctx, t.Env.ID, state.TaskRunning)
	if err != nil {
		return state.Task{}, err
	}
	for _, rec := range append(answered, running...) {
		if t.HasBegun(rec) {
			return rec, nil
		}
	}
	return t.Env.Journal.Tasks.Next(ctx, t.Env.ID)
}

// HasBegun reports whether a task has a run in the room's container, or an answer that may have been sent: it must end
// before the room moves, also if it is newer than the tombstone.
func (t *Turn) HasBegun(rec state.Task) bool {
	return rec.State == state.TaskAnswered || rec.State == state.TaskRunning && t.Env.Task(rec).Continued()
}

// Ahead returns the record of the current task or, if that is nil, of the next one, which may not be due yet. It is
// empty if there is neither.
func (t *Turn) Ahead(ctx context.Context, current *task.Work) (rec state.Task, err error) {
	if current != nil {
		rec, err = t.Env.Journal.Tasks.Get(ctx, current.Key())
	} else if rec, err = t.Env.Journal.Tasks.Next(ctx, t.Env.ID); errors.Is(err, state.ErrNotFound) {
		return state.Task{}, nil
	}
	if err != nil {
		return rec, fmt.Errorf("read current task: %w", err)
	}
	return rec, nil
}

// Hold keeps the room from starting a task until release is called. It returns nil if a task is running, or if its run
// has outlived the bot.
func (t *Turn) Hold(ctx context.Context) (release func(), err error) {
	t.Lock()
	defer t.Unlock()
	next, err := t.UpNext(ctx)
	if err != nil && !errors.Is(err, state.ErrNotFound) {
		return nil, fmt.Errorf("read next task: %w", err)
	}
	if t.Busy("") || err == nil && t.Env.Task(next).Continued() {
		return nil, nil
	}
	t.held = true
	return func() {
		t.Lock()
		defer t.Unlock()
		t.held = false
		t.Wake()
	}, nil
}

// Held reports whether Hold keeps the room from starting a task. The caller holds the lock.
func (t *Turn) Held() bool { return t.held }
