package turn

import (
	"context"
	"errors"
	"fmt"

	"matrix-tui/state"
)

// Open is a task that can be stopped.
type Open struct {
	Task    state.Task
	Running bool // else it waits for an answer, or is queued again with one
}

// Opened returns the running task and the waiting ones, oldest first. The caller holds the lock.
func (t *Turn) Opened(ctx context.Context) ([]Open, error) {
	waiting, err := t.Env.Journal.Tasks.WaitingIn(ctx, t.Env.ID)
	if err != nil {
		return nil, fmt.Errorf("read waiting tasks: %w", err)
	}
	var all []Open
	w := t.Current()
	first, err := t.Ahead(ctx, w)
	if err != nil {
		return nil, err
	}
	isFirst := w != nil || !first.Due.At.IsZero()
	if isFirst && (first.State == state.TaskQueued || first.State == state.TaskRunning) {
		all = append(all, Open{first, true}) // else it has ended and is cleaning up
	}
	running, err := t.Env.Journal.Tasks.In(ctx, t.Env.ID, state.TaskRunning)
	if err != nil {
		return nil, fmt.Errorf("read running tasks: %w", err)
	}
	for _, rec := range running {
		switch {
		case rec.Key == first.Key && isFirst:
		case w == nil && t.Env.Task(rec).Continued(): // after a restart: the worker takes it up next
			all = append(all, Open{rec, true})
		default: // queued again, with their answers
			waiting = append(waiting, rec)
		}
	}
	for _, rec := range waiting {
		all = append(all, Open{rec, false})
	}
	return all, nil
}

// Begun returns the tasks whose answers or added messages can still be edited: those that are running or queued again,
// and the task that the worker prepares or, if it has none, the next one.
func (t *Turn) Begun(ctx context.Context) ([]state.Task, error) {
	tasks, err := t.Env.Journal.Tasks.In(ctx, t.Env.ID, state.TaskRunning)
	if err != nil {
		return nil, fmt.Errorf("read running tasks: %w", err)
	}
	next, err := t.Ahead(ctx, t.Current())
	if err == nil && next.State == state.TaskQueued {
		tasks = append(tasks, next)
	}
	return tasks, err
}

// IsIdle reports whether a task can end without the worker: it waits for an answer or, in the queue, for its turn. The
// caller holds the lock.
func (t *Turn) IsIdle(rec state.Task) bool {
	w := t.Current()
	inLine := rec.State == state.TaskQueued && rec.Room == t.Env.ID && !t.Following && (w == nil || w.Key() != rec.Key)
	return rec.State == state.TaskWaiting || inLine
}

// About is one of the room's events and the task that it belongs to.
type About struct {
	Task *state.Task   // it asked for this task, or is one of our messages about it; nil for none
	Told state.Message // the event, if it is one of our messages; else empty
}

// About returns what an event is about.
func (t *Turn) About(ctx context.Context, event string) (a *About, err error) {
	var rec state.Task
	a = &About{}
	a.Told, err = t.Env.Journal.Messages.Of(ctx, t.Env.ID, event)
	switch {
	case err == nil && a.Told.Task == "":
		return a, nil
	case err == nil:
		rec, err = t.Env.Journal.Tasks.Get(ctx, a.Told.Task)
	case errors.Is(err, state.ErrNotFound):
		rec, err = t.Env.Journal.Tasks.Of(ctx, t.Env.ID, event)
	default:
		return a, fmt.Errorf("look up message: %w", err)
	}
	if errors.Is(err, state.ErrNotFound) {
		return a, nil
	}
	if err != nil {
		return a, fmt.Errorf("look up task: %w", err)
	}
	a.Task = &rec
	return a, nil
}

// Asks reports whether the event is a question, a part of one or a reminder.
func (a *About) Asks() bool {
	return a.Told.Kind == state.KindQuestion || a.Told.Kind == state.KindQuestionPart || a.Told.Kind == state.KindReminder
}

// Look does what is due for one waiting task: see [task.Env.Look].
func (t *Turn) Look(ctx context.Context, key string) error {
	ended, err := t.Env.Look(ctx, key)
	if ended {
		t.Wake()
	}
	return err
}

// CannotAsk ends a task whose question n can never be shown.
func (t *Turn) CannotAsk(ctx context.Context, key string, n int) error {
	if err := t.Env.GiveUpAsking(ctx, key, n); err != nil {
		return err
	}
	t.Wake()
	return nil
}
