package bot

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"matrix-tui/bot/command"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// stopKey is the reaction that stops a task.
const stopKey = "🛑"

// candidate is a task that can be stopped.
type candidate struct {
	task    state.Task
	running bool // else it waits for an answer, or is queued again with one
}

// toStop picks the task that a user means by !stop without a reply: the running
// task, unless it is somebody else's and the user has an open question; else the
// task of the user's newest question; else the only candidate; else nil.
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

// candidates returns the running task and the waiting ones, oldest first. The
// caller holds r.turn.
func (r *room) candidates(ctx context.Context) ([]candidate, error) {
	waiting, err := r.bot.Journal.Tasks.WaitingIn(ctx, r.id)
	if err != nil {
		return nil, fmt.Errorf("read waiting tasks: %w", err)
	}
	var all []candidate
	t := r.turn.Current()
	first, err := r.turn.Ahead(ctx, t)
	if err != nil {
		return nil, err
	}
	if open := first.State == state.TaskQueued || first.State == state.TaskRunning; open && (t != nil || !first.Due.At.IsZero()) {
		all = append(all, candidate{first, true}) // else it has ended and is cleaning up
	}
	running, err := r.bot.Journal.Tasks.In(ctx, r.id, state.TaskRunning)
	if err != nil {
		return nil, fmt.Errorf("read running tasks: %w", err)
	}
	for _, rec := range running {
		switch {
		case rec.Key == first.Key && (t != nil || !rec.Due.At.IsZero()):
		case t == nil && r.env.Task(rec).Continued(): // after a restart: the worker takes it up next
			all = append(all, candidate{rec, true})
		default: // queued again, with their answers
			waiting = append(waiting, rec)
		}
	}
	for _, rec := range waiting {
		all = append(all, candidate{rec, false})
	}
	return all, nil
}

// ofThread returns those candidates whose thread has this root: an event in the thread asked for them, or the root is
// their event or one of our messages about them.
func (r *room) ofThread(ctx context.Context, all []candidate, root string) ([]candidate, error) {
	at, _, err := r.taskOf(ctx, root)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(c candidate) bool {
		return c.task.Thread != root && (at == nil || c.task.Key != at.Key)
	}), nil
}

// stopWords are what people write, alone in a message, to stop a task that is running.
var stopWords = strings.Fields("stop cancel halt abort stopp abbrechen annuler arrête arrete cancelar para detener ferma annulla стоп отмена 停止 取消")

// couldStop reports whether a message is a word that stops the sender's task, which runs or waits for its model.
func (r *room) couldStop(ctx context.Context, e event.Event) bool {
	m, ok := e.Message()
	if !ok || m.IsFile() || m.IsEdit() {
		return false
	}
	said, _ := policy.AfterName(m.Words(), r.bot.UserID(), r.bot.name())
	word := strings.ToLower(strings.TrimFunc(said, func(c rune) bool { return event.IsBlank(c) || unicode.IsPunct(c) }))
	if !slices.Contains(stopWords, word) {
		return false
	}
	if t := r.turn.Current(); t != nil {
		return t.Requester() == e.Sender
	}
	next, err := r.turn.Ahead(ctx, nil)
	return err == nil && next.Requester == e.Sender && !next.Due.At.IsZero() // it waits for its model
}

// doStop runs !stop: it stops the task that the message replies to, directly or through
// one of the task's messages, or else, of those in its thread if it has one, the one that toStop picks.
func (r *room) doStop(ctx context.Context, row state.Event, what string) error {
	switch c, _, _ := command.Parse("!stop"); {
	case strings.EqualFold(what, "all"):
		return r.stopAll(ctx, row)
	case what != "":
		return r.tell(ctx, row, c.Usage())
	}
	m, _ := row.Message()
	r.turn.Lock()
	defer r.turn.Unlock()
	if about := m.RelatesTo.ReplyTo(); about != "" {
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
	if root := m.RelatesTo.Thread(); root != "" {
		if all, err = r.ofThread(ctx, all, root); err != nil {
			return err
		}
		if len(all) == 0 {
			return r.tell(ctx, row, "No task is running in this thread, and no question is open here.")
		}
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

// stop cancels a task in any state and finishes the row with the order. A running
// task reports that itself once its processes have ended. The caller holds
// r.turn.
func (r *room) stop(ctx context.Context, key string, order state.Event) error {
	rec, err := r.bot.Journal.Tasks.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("read task: %w", err)
	}
	if rec.State == state.TaskDone || rec.State == state.TaskAnswered {
		return r.tell(ctx, order, "That task has already ended.")
	}
	if r.isIdle(rec) {
		return r.cancel(ctx, rec, order, order.ID)
	}
	if err := r.interrupt(ctx, rec, order); err != nil {
		return err
	}
	return r.finish(ctx, order)
}

// isIdle reports whether a task can end without the tasks worker: it waits for an answer or, in the queue, for its turn.
// The caller holds r.turn.
func (r *room) isIdle(rec state.Task) bool {
	t := r.turn.Current()
	inLine := rec.State == state.TaskQueued && rec.Room == r.id && !r.turn.Following && (t == nil || t.Key() != rec.Key)
	return rec.State == state.TaskWaiting || inLine
}

// cancel ends an idle task and finishes the events in closes. The caller holds r.turn.
func (r *room) cancel(ctx context.Context, rec state.Task, order state.Event, closes ...string) (err error) {
	rec.StopBy, rec.Withdrawn = order.Sender, false
	if t := r.env.Task(rec); rec.State == state.TaskWaiting {
		err = t.Question().Cancel(ctx, order.Sender, closes...)
	} else {
		err = t.Unqueue(ctx, closes...)
	}
	if err != nil {
		return err
	}
	r.turn.Wake()
	return nil
}

// interrupt stores that a running or queued task is to be stopped, and stops it. The caller holds r.turn.
func (r *room) interrupt(ctx context.Context, rec state.Task, order state.Event) error {
	rec.StopBy, rec.Withdrawn = order.Sender, false
	if err := r.env.Note(ctx, rec, r.env.Task(rec).Voice().Unqueued()...); err != nil {
		return fmt.Errorf("store the stop: %w", err)
	}
	r.turn.Signal(rec.Key, "🛑 stopping all of its processes")
	r.turn.Wake()
	return nil
}
