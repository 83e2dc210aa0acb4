package decide

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"matrix-tui/bot/command"
	"matrix-tui/bot/media"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/execution"
	"matrix-tui/state/sentence"
)

// edit is an edit that is being applied.
type edit struct {
	*Room
	row      state.Event
	target   string        // the event that is edited
	words    string        // what it says now
	original state.Event   // if it is known and its sender's own, else empty
	now      event.Message // the message that the edit leaves, as far as the original is known
}

// Edit applies an edit to a task, or to a part of one, that has not started, or to an answer that the run has not used
// yet. What mentions the bot now is a task. The room is told if an edit comes too late. What becomes a command is
// returned in the row's place, to be done as one.
func (r *Room) Edit(ctx context.Context, row state.Event) (order *state.Event, err error) {
	m, _ := row.Message()
	e := edit{Room: r, row: row, target: m.RelatesTo.EventID, words: m.NewWords()}
	first := event.Message{MsgType: m.MsgType}
	original, err := r.Judge.Event(ctx, r.Env.ID, e.target)
	if err != nil && !errors.Is(err, state.ErrNotFound) {
		return nil, fmt.Errorf("read edited message: %w", err)
	}
	if err == nil && original.Sender == row.Sender {
		e.original = original
		first, _ = original.Message()
	}
	e.now, _ = first.Edited(m)
	if c, _, ok := command.Parse(e.now.Words()); !ok || c.IsTask() {
		return nil, e.apply(ctx)
	}
	own, err := e.withdraw(ctx)
	if err != nil {
		return nil, err
	}
	if !own && !e.mentions() {
		return nil, e.apply(ctx)
	}
	row.Body.Message = &e.now
	return &row, nil
}

// mentions reports whether the edit makes a message mention the bot that was not for it, in a room where that matters.
func (e edit) mentions() bool {
	first, ok := e.original.Message()
	return ok && !first.IsEdit() && e.original.Status != state.Pending && e.original.Addressee != event.ToBot &&
		e.Judge.Addressee(e.now) == policy.TheBot &&
		e.Env.Policy.Room(e.Env.ID).Reply.In(e.Judge.Roster.MayBeAlone(e.Env.ID)) == policy.MentionOnly
}

// withdraw withdraws a task that has not started, because the edit makes a command of it. It reports whether the edit
// is of the sender's own task, which has no result yet.
func (e edit) withdraw(ctx context.Context) (own bool, err error) {
	e.Lock()
	defer e.Unlock()
	rec, err := e.Env.Journal.Tasks.Of(ctx, e.Env.ID, e.target)
	if errors.Is(err, state.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read task: %w", err)
	}
	own = rec.Requester == e.row.Sender && rec.State != state.TaskDone && rec.State != state.TaskAnswered
	if own && rec.State == state.TaskQueued {
		err = e.Orders.Withdraw(ctx, rec, e.row.Sender)
	}
	return own, err
}

// apply is Edit for what is no command now.
func (e edit) apply(ctx context.Context) error {
	e.Lock()
	defer e.Unlock()
	rec, err := e.Env.Journal.Tasks.Of(ctx, e.Env.ID, e.target)
	if err == nil {
		return e.ofTask(ctx, rec)
	}
	if !errors.Is(err, state.ErrNotFound) {
		return fmt.Errorf("read task: %w", err)
	}
	tasks, err := e.Begun(ctx)
	if err != nil {
		return err
	}
	for _, rec := range tasks {
		if i := task.Unheard(rec, e.target, e.row.Sender); i >= 0 {
			return e.ofPart(ctx, rec, i)
		}
		if t := e.Env.Task(rec); t.Given().Event == e.target && t.Given().By == e.row.Sender {
			return e.ofAnswer(ctx, t)
		}
	}
	switch mentions := e.mentions(); {
	case mentions && command.IsUnknown(e.now.Words()):
		return e.Out.Tell(ctx, e.row, command.Unknown(e.now.Words()))
	case mentions:
		return e.enqueueIt(ctx)
	}
	return e.Finish(ctx, e.row)
}

// ofTask applies the edit of a message that has asked for a task. The caller holds the lock.
func (e edit) ofTask(ctx context.Context, rec state.Task) error {
	unknown := command.IsUnknown(e.now.Words())
	switch {
	case rec.Requester != e.row.Sender:
	case rec.Withdrawn && unknown:
		return e.Out.Tell(ctx, e.row, command.Unknown(e.now.Words()))
	case rec.Withdrawn:
		return e.Out.Tell(ctx, e.row, "I dropped this task when you edited it before. Send it as a new message.")
	case rec.State == state.TaskQueued && unknown:
		if err := e.Orders.Withdraw(ctx, rec, e.row.Sender); err != nil {
			return err
		}
		return e.Out.Tell(ctx, e.row, command.Unknown(e.now.Words()))
	case rec.State == state.TaskQueued:
		return e.rewrite(ctx, rec)
	case rec.State != state.TaskDone && rec.State != state.TaskAnswered:
		return e.Out.Tell(ctx, e.row, "I am already working on your first version. To change it, send `!steer` and what "+
			"is different now.")
	}
	return e.Finish(ctx, e.row)
}

// rewrite replaces the text of a task that has not started and leaves its file alone. The caller holds the lock.
func (e edit) rewrite(ctx context.Context, rec state.Task) error {
	words := strings.TrimSpace(command.WithoutTask(e.words))
	if rec.HasFile {
		source, err := e.Judge.Event(ctx, rec.Home, rec.Event)
		if err != nil {
			return fmt.Errorf("read the task's message: %w", err)
		}
		if f, ok := media.FileOf(source.Event); ok {
			words = task.WithFile(f, words)
		}
	}
	if words == "" {
		return e.Finish(ctx, e.row)
	}
	rec.Text, rec.Edited = task.Rewritten(rec, words), true
	return e.note(ctx, rec)
}

// ofPart replaces a message that was added to a task. The caller holds the lock.
func (e edit) ofPart(ctx context.Context, rec state.Task, part int) error {
	said := &rec.Said[part]
	words := strings.TrimSpace(e.words)
	if words == "" && !said.File {
		return e.Finish(ctx, e.row)
	}
	said.Text, said.Edited = words, true
	return e.note(ctx, rec)
}

// note stores a task that the edit has changed.
func (e edit) note(ctx context.Context, rec state.Task) error {
	if err := e.Env.Note(ctx, rec); err != nil {
		return err
	}
	return e.Finish(ctx, e.row)
}

// ofAnswer replaces the newest answer of a task. The caller holds the lock.
func (e edit) ofAnswer(ctx context.Context, t *task.Task) error {
	text := command.WithoutAnswer(e.words)
	if f, ok := media.FileOf(e.original.Event); ok {
		text = task.FileAnswer(f, text)
	}
	if yes, _ := t.Question().Affirms(text); yes && t.Given().Answer != text && !t.Continued() {
		return e.Out.Tell(ctx, e.row, editApproves)
	}
	if t.Given().Answer != text { // else the edit was already applied
		if t.Continued() {
			return e.Out.Tell(ctx, e.row, "I already continued with your first answer. Use `!stop` to cancel the task, or "+
				"tell me the change when it is done.")
		}
		err := t.Amend(ctx, e.target, text)
		if errors.Is(err, execution.ErrLimit) {
			return e.Out.Tell(ctx, e.row, sentence.Text(err)+" Your first answer stands.")
		}
		if err != nil {
			return err
		}
	}
	if err := e.unquote(ctx, e.target); err != nil { // the question shows the first answer
		return err
	}
	return e.Finish(ctx, e.row)
}

// enqueueIt makes a message a task that mentions the bot since it was edited. The caller holds the lock.
func (e edit) enqueueIt(ctx context.Context) error {
	e.original.Body.Message = &e.now
	rec, err := taskFrom(e.original)
	if errors.Is(err, execution.ErrLimit) {
		return e.Out.Tell(ctx, e.row, sentence.Text(err))
	}
	if err != nil {
		return err
	}
	if err := e.Env.Journal.Tasks.EnqueueEdited(ctx, rec, e.row.ID); err != nil && !errors.Is(err, state.ErrFinished) {
		return err
	}
	e.Wake()
	return nil
}
