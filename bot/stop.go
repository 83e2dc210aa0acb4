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

// stopOrder is who wants a task to end.
type stopOrder struct {
	By     string `json:"by"`               // user ID
	Silent bool   `json:"silent,omitempty"` // it was taken back: there is nothing to reply to
}

var errStopped = errors.New("the task was told to stop")

// stopKey is the reaction that stops a task.
const stopKey = "🛑"

// take makes t the room's current task. The caller holds the books.
func (r *room) take(ctx context.Context, t *task) {
	t.stopping, t.stopNow = context.WithCancel(ctx)
	t.left = make(chan struct{})
	t.lastPart.Store(t.row.Time.UnixMilli())
	if t.rec.Stop != nil || len(t.rec.Steer) > t.rec.Given && t.rec.Box != "" {
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
	row, err := r.bot.Journal.Event(ctx, r.id, t.row.Event)
	if err != nil {
		return fmt.Errorf("read running task: %w", err)
	}
	if row.Status != state.Answered && row.Status != state.Done {
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
	return r.current != nil && r.current.key != other
}

// signalStop tells the current task to stop, if it is the one of that key, and
// the room why.
func (r *room) signalStop(key, note string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.current; t != nil && t.key == key {
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
	row     state.Inbound
	key     string
	asker   string
	running bool // else it waits for an answer, or for its turn with one
}

// toStop picks what a bare !stop by a user means: what runs, unless it is
// somebody else's and the user's own question waits; else the user's own
// newest question; else the only one. nil is nothing.
func toStop(all []candidate, user string) *candidate {
	own := func(c candidate) bool { return c.asker == user }
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
	rows, err := r.bot.Journal.WaitingIn(ctx, r.id)
	if err != nil {
		return nil, fmt.Errorf("read waiting tasks: %w", err)
	}
	var all []candidate
	r.mu.Lock()
	t := r.current
	r.mu.Unlock()
	if t != nil {
		row, err := r.bot.Journal.Event(ctx, r.id, t.row.Event) // it may have ended, and be tidying up
		if err != nil {
			return nil, fmt.Errorf("read running task: %w", err)
		}
		if row.Status == state.Pending || row.Status == state.Running {
			all = append(all, candidate{row, t.key, t.asker(), true})
		}
	}
	unfinished, err := r.bot.Journal.Unfinished(ctx, r.id)
	if err != nil {
		return nil, fmt.Errorf("read unfinished rows: %w", err)
	}
	for _, row := range unfinished { // in line again, with their answers
		if row.Status == state.Running && (t == nil || row.Event != t.row.Event) {
			rows = append(rows, row)
		}
	}
	for _, row := range rows {
		all = append(all, candidate{row, taskKey(row), row.Sender, false})
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
			return r.stop(ctx, target.Event, row)
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
	return r.stop(ctx, target.row.Event, row)
}

// stop ends the task of a row, whatever it is at, by order of another row,
// which it ends too. A running one says so itself when its processes are gone.
// The caller holds the books.
func (r *room) stop(ctx context.Context, event string, order state.Inbound) error {
	target, err := r.bot.Journal.Event(ctx, r.id, event)
	if err != nil {
		return fmt.Errorf("read task: %w", err)
	}
	if target.Status == state.Done || target.Status == state.Answered || target.Status == state.Archived {
		return r.tell(ctx, order, "That task is over already.")
	}
	t, err := newTask(r, target)
	if err != nil {
		return err
	}
	t.rec.Stop = &stopOrder{By: order.Sender}
	if target.Status == state.Waiting {
		return t.expire(ctx, agent.Outcome{Ended: agent.Stopped}, func(now time.Time) error {
			return t.rec.Execution.Fail("Given up by "+order.Sender+".", now)
		}, order.Event)
	}
	data, err := t.encoded()
	if err != nil {
		return err
	}
	if err := r.bot.Journal.Note(ctx, r.id, target.Event, data); err != nil {
		return fmt.Errorf("note the stop: %w", err)
	}
	r.signalStop(t.key, "🛑 stopping, until none of its processes is left")
	r.tasks.wake()
	return r.finish(ctx, order)
}

// stoppedText is what the room is told when a task was stopped.
func (t *task) stoppedText(out agent.Outcome) string {
	by := localpart(t.rec.Stop.By)
	switch {
	case t.rec.Execution.State == agent.Failed, // before this outcome: it waited
		t.rec.Box == "" && t.rec.Ran == nil && len(t.rec.Execution.Answers) > 0:
		return "🛑 Given up, as " + by + " asked. What was changed so far stays in /workspace."
	case t.rec.Box == "" && t.rec.Ran == nil:
		return "🛑 Stopped, as " + by + " asked, before it began."
	}
	return "🛑 Stopped, as " + by + " asked. Every process of the task is gone; what it changed stays in /workspace."
}
