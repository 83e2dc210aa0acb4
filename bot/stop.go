package bot

import (
	"context"
	"fmt"
	"slices"
	"time"

	"matrix-tui/bot/task"
	"matrix-tui/state"
)

// stopKey is the reaction that stops a task.
const stopKey = "🛑"

// setCurrent makes t the task that the worker has taken up.
func (r *room) setCurrent(t *task.Work) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current = t
}

// leave ends what nextTask began.
func (r *room) leave(t *task.Work) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.Close()
	r.current = nil
}

// atWork is the task that the worker has taken up, nil for none.
func (r *room) atWork() *task.Work {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current
}

// settled waits until a task whose result is out has been written down, too.
func (r *room) settled(ctx context.Context) error {
	t := r.atWork()
	if t == nil {
		return nil
	}
	rec, err := r.bot.Journal.Task(ctx, t.Key())
	if err != nil {
		return fmt.Errorf("read running task: %w", err)
	}
	if rec.State != state.TaskAnswered && rec.State != state.TaskDone {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	select {
	case <-t.Left():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the end of a task: %w", ctx.Err())
	}
}

// busy tells whether the tasks' worker has a task, other than the one of that key.
func (r *room) busy(other string) bool {
	t := r.atWork()
	return t != nil && t.Key() != other
}

// signalStop tells the current task to stop, if it is the one of that key, and
// the room why.
func (r *room) signalStop(key, note string) {
	if t := r.atWork(); t != nil && t.Key() == key {
		t.Stop(note)
	}
}

// candidate is a task that can be stopped.
type candidate struct {
	task    state.Task
	running bool // else it waits for an answer, or for its turn with one
}

// toStop picks what a bare !stop by a user means: what runs, unless it is
// somebody else's and the user's own question waits; else the user's own
// newest question; else the only one. nil is nothing.
func toStop(all []candidate, user string) *candidate {
	own := func(c candidate) bool { return task.AskerOf(c.task) == user }
	running := slices.IndexFunc(all, func(c candidate) bool { return c.running })
	mine := -1
	for i, c := range all {
		if own(c) && !c.running {
			mine = i
		}
	}
	switch {
	case running >= 0 && (mine < 0 || own(all[running])):
		return &all[running]
	case mine >= 0:
		return &all[mine]
	case len(all) == 1:
		return &all[0]
	}
	return nil
}

// candidates are the running task and those that wait, oldest first. The
// caller holds the books.
func (r *room) candidates(ctx context.Context) ([]candidate, error) {
	waiting, err := r.bot.Journal.WaitingIn(ctx, r.id)
	if err != nil {
		return nil, fmt.Errorf("read waiting tasks: %w", err)
	}
	var all []candidate
	t := r.atWork()
	if t != nil {
		rec, err := r.bot.Journal.Task(ctx, t.Key()) // it may have ended, and be tidying up
		if err != nil {
			return nil, fmt.Errorf("read running task: %w", err)
		}
		if rec.State == state.TaskQueued || rec.State == state.TaskRunning {
			all = append(all, candidate{rec, true})
		}
	}
	running, err := r.bot.Journal.Tasks(ctx, r.id, state.TaskRunning)
	if err != nil {
		return nil, fmt.Errorf("read running tasks: %w", err)
	}
	for _, rec := range running { // in line again, with their answers
		if t == nil || rec.Key != t.Key() {
			waiting = append(waiting, rec)
		}
	}
	for _, rec := range waiting {
		all = append(all, candidate{rec, false})
	}
	return all, nil
}

// doStop stops what a message means by !stop: the task that it replies to, or
// whose question or notice it replies to, or else see toStop.
func (r *room) doStop(ctx context.Context, row state.Event, _ string) error {
	m, _ := row.Message()
	r.books.Lock()
	defer r.books.Unlock()
	if about := m.RelatesTo.About(); about != "" {
		target, _, err := r.taskOf(ctx, about)
		if err != nil {
			return err
		}
		if target != nil {
			return r.stop(ctx, target.Key, row)
		}
	}
	all, err := r.candidates(ctx)
	if err != nil {
		return err
	}
	target := toStop(all, row.Sender)
	if target == nil && len(all) > 0 {
		return r.tell(ctx, row, "Several tasks are waiting for an answer here. Reply `!stop` to the question you mean.")
	}
	if target == nil {
		return r.tell(ctx, row, "No task is running here, and no question is open.")
	}
	return r.stop(ctx, target.task.Key, row)
}

// stop ends a task, whatever it is at, by order of a row, which it ends too. A
// running one says so itself when its processes are gone. The caller holds the
// books.
func (r *room) stop(ctx context.Context, key string, order state.Event) error {
	rec, err := r.bot.Journal.Task(ctx, key)
	if err != nil {
		return fmt.Errorf("read task: %w", err)
	}
	if rec.State == state.TaskDone || rec.State == state.TaskAnswered {
		return r.tell(ctx, order, "That task has already ended.")
	}
	rec.StopBy, rec.Withdrawn = order.Sender, false
	if rec.State == state.TaskWaiting {
		if err := r.env.Task(rec).Question().Refuse(ctx, order.Sender, order.ID); err != nil {
			return err
		}
		r.tasks.Wake()
		return nil
	}
	if err := r.env.Note(ctx, rec); err != nil {
		return fmt.Errorf("note the stop: %w", err)
	}
	r.signalStop(rec.Key, "🛑 stopping all of its processes")
	r.tasks.Wake()
	return r.finish(ctx, order)
}
