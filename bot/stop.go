package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"matrix-tui/agent"
	"matrix-tui/state"
)

var errStopped = errors.New("the task was told to stop")

// stopKey is the reaction that stops a task.
const stopKey = "🛑"

// take makes t the room's current task. The caller holds the books.
func (r *room) take(ctx context.Context, t *task) {
	t.stopping, t.stopNow = context.WithCancel(ctx)
	t.left = make(chan struct{})
	t.lastPart.Store(newestPart(t.rec).UnixMilli())
	if t.rec.StopBy != "" || len(t.rec.Said) > t.rec.Given { // the run waits for the rest of what is said: see steered
		t.stopNow()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current = t
}

// leave ends what take began.
func (r *room) leave(t *task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.stopNow()
	close(t.left)
	r.current = nil
}

// settled waits until a task whose result is out has been written down, too.
func (r *room) settled(ctx context.Context) error {
	r.mu.Lock()
	t := r.current
	r.mu.Unlock()
	if t == nil {
		return nil
	}
	rec, err := r.bot.Journal.Task(ctx, t.taken.Key)
	if err != nil {
		return fmt.Errorf("read running task: %w", err)
	}
	if rec.State != state.TaskAnswered && rec.State != state.TaskDone {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	select {
	case <-t.left:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the end of a task: %w", ctx.Err())
	}
}

// busy tells whether the tasks' lane has a task, other than the one of that key.
func (r *room) busy(other string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current != nil && r.current.taken.Key != other
}

// signalStop tells the current task to stop, if it is the one of that key, and
// the room why.
func (r *room) signalStop(key, note string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.current; t != nil && t.taken.Key == key {
		if t.shown != nil {
			t.shown.set(note)
		}
		t.stopNow()
	}
}

// stoppable is a context that ends when the task is to stop, too.
func (t *task) stoppable(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	unhook := context.AfterFunc(t.stopping, cancel)
	return ctx, func() { unhook(); cancel() }
}

// stoppedEarly is the outcome of a task that was stopped before its run began.
func (t *task) stoppedEarly() agent.Outcome {
	return agent.Outcome{Ended: agent.Stopped, Detail: "Nothing of it had begun."}
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
	own := func(c candidate) bool { return askerOf(c.task) == user }
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
	r.mu.Lock()
	t := r.current
	r.mu.Unlock()
	if t != nil {
		rec, err := r.bot.Journal.Task(ctx, t.taken.Key) // it may have ended, and be tidying up
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
		if t == nil || rec.Key != t.taken.Key {
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
func (r *room) doStop(ctx context.Context, row state.Inbound, _ string) error {
	e, _ := parseEvent(row.Raw)
	m, _ := e.message()
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
		return r.tell(ctx, row, "Several tasks wait here for an answer. Reply `!stop` to the question that you mean.")
	}
	if target == nil {
		return r.tell(ctx, row, "Nothing is running here, and no question of mine waits.")
	}
	return r.stop(ctx, target.task.Key, row)
}

// stop ends a task, whatever it is at, by order of a row, which it ends too. A
// running one says so itself when its processes are gone. The caller holds the
// books.
func (r *room) stop(ctx context.Context, key string, order state.Inbound) error {
	rec, err := r.bot.Journal.Task(ctx, key)
	if err != nil {
		return fmt.Errorf("read task: %w", err)
	}
	if rec.State == state.TaskDone || rec.State == state.TaskAnswered {
		return r.tell(ctx, order, "That task is over already.")
	}
	rec.StopBy, rec.Withdrawn = order.Sender, false
	if rec.State == state.TaskWaiting {
		t := newTask(r, rec)
		return t.expire(ctx, agent.Outcome{Ended: agent.Stopped}, func(now time.Time) error {
			return t.exec.Fail("Given up by "+order.Sender+".", now)
		}, order.Event)
	}
	if err := r.note(ctx, rec); err != nil {
		return fmt.Errorf("note the stop: %w", err)
	}
	r.signalStop(rec.Key, "🛑 stopping, until none of its processes is left")
	r.tasks.wake()
	return r.finish(ctx, order)
}

// stoppedText is what the room is told when a task was stopped.
func (t *task) stoppedText(out agent.Outcome) string {
	by := localpart(t.rec.StopBy)
	switch {
	case t.exec.State == agent.Failed, // before this outcome: it waited
		t.rec.Container == "" && t.rec.Approved == nil && len(t.exec.Answers) > 0:
		return "🛑 Given up, as " + by + " asked. What was changed so far stays in /workspace."
	case t.rec.Container == "" && t.rec.Approved == nil:
		return "🛑 Stopped, as " + by + " asked, before it began."
	}
	return "🛑 Stopped, as " + by + " asked. Every process of the task is gone; what it changed stays in /workspace."
}
