// Package decide decides what an event is to its room: a new task or a part of one, an answer, an edit, a removal, an
// order to stop, or nothing. A decision is taken from what the journal has, and stored in one step. Which events are
// for the bot is decided before; the package runs nothing and sends nothing itself.
package decide

import (
	"context"
	"errors"
	"fmt"

	"matrix-tui/bot/admit"
	"matrix-tui/bot/command"
	"matrix-tui/bot/crash"
	"matrix-tui/bot/media"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/proof"
	"matrix-tui/bot/stop"
	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/execution"
	"matrix-tui/state/sentence"
)

// Room decides about the events of one room.
type Room struct {
	stop.Orders
	Proof *proof.Rules
	Judge *admit.Judge
}

// Object rejects an event whose sender lacks a proof, or that is a copy; done says that it did. What asks for nothing
// by itself, such as an edit, is ignored.
func (r *Room) Object(ctx context.Context, row state.Event) (done bool, err error) {
	if row.Kind != event.KindEdit && !row.Kind.Asks() {
		return false, nil
	}
	m, _ := row.Message()
	c, _, _ := command.Parse(m.Words())
	if row.Kind != event.KindCommand || c.Name != "stop" { // whoever may have written it, stopping is allowed
		said, err := r.Proof.Missing(ctx, row.Event, policy.ProofAll)
		switch {
		case err != nil:
			return false, err
		case said != "" && (row.Kind == event.KindEdit || row.Addressee != event.ToBot):
			return true, r.Finish(ctx, row)
		case said != "":
			return true, r.Out.Tell(ctx, row, said)
		}
	}
	if row.Addressee != event.ToBot || row.Kind == event.KindEdit || row.Kind == event.KindUnsupported {
		return false, nil // it might be an answer: see writtenBefore
	}
	if copied, err := isCopy(ctx, r.Env, row); err != nil || !copied {
		return false, err
	}
	return true, r.Out.Tell(ctx, row, copyText)
}

// Message decides about a message that may be a task. alone says that the bot and one other person are the only
// members.
func (r *Room) Message(ctx context.Context, row state.Event, alone bool) error {
	to, err := r.routed(ctx, row, alone)
	if err != nil || to.verdict == isTask {
		return err
	}
	m, _ := row.Message()
	switch to.verdict {
	case isPart:
		return r.join(ctx, row, alone)
	case isAnswer:
		return r.bind(ctx, row, to.task.Key, m.Words())
	case isLate, isClosed:
		return r.tooLate(ctx, row, *to.task, to.verdict)
	case isStop:
		return r.Stop(ctx, row)
	case isUnclear:
		return r.Out.Tell(ctx, row, "To run the command, reply `yes` to my question or send `!answer yes`: a plain `yes` "+
			"could be meant for somebody else.")
	}
	return r.ambiguous(ctx, row, to.among)
}

// routed routes a message that may be a task. A new task is queued when it returns.
func (r *Room) routed(ctx context.Context, row state.Event, alone bool) (to route, err error) {
	r.Lock()
	defer r.Unlock()
	if row.Kind == event.KindMessage {
		f, err := r.factsOf(ctx, row, alone)
		if err != nil {
			return to, err
		}
		to = f.route(row)
	}
	if to.verdict == isTask {
		err = r.enqueue(ctx, row, alone)
	}
	return to, err
}

// enqueue makes an event a task in the room's queue and marks it as queued (⏳) if another task is ahead of it. The
// caller holds the lock.
func (r *Room) enqueue(ctx context.Context, row state.Event, alone bool) error {
	if row.Addressee != event.ToBot {
		return r.Env.Journal.Events.Archive(ctx, r.Env.ID, row.ID) // it was admitted as a possible answer only
	}
	if other, err := r.isBot(ctx, row); other || err != nil {
		return err
	}
	rec, err := taskFrom(row)
	if err == nil {
		rec.Said, err = r.filesBefore(ctx, row, alone)
	}
	return r.put(ctx, row, rec, err)
}

// Compact queues a task that summarises the session.
func (r *Room) Compact(ctx context.Context, row state.Event) error {
	r.Lock()
	defer r.Unlock()
	rec, err := taskFrom(row)
	m, _ := row.Message()
	rec.Compact, rec.Text, rec.HasFile, rec.ReplyTo = true, m.Words(), false, ""
	return r.put(ctx, row, rec, err)
}

// put queues the task of an event, unless that could not be made. The caller holds the lock.
func (r *Room) put(ctx context.Context, row state.Event, rec state.Task, err error) error {
	if errors.Is(err, execution.ErrLimit) {
		return r.Out.Tell(ctx, row, sentence.Text(err))
	}
	if err != nil {
		return err
	}
	var out []state.Message
	if !rec.Moved() {
		_, err := r.Env.Journal.Tasks.Next(ctx, r.Env.ID)
		if err == nil {
			out = r.Env.Room.Render(ctx, r.Env.Task(rec).Voice().Queued())
		} else if !errors.Is(err, state.ErrNotFound) {
			return fmt.Errorf("read next task: %w", err)
		}
	}
	err = r.Env.Journal.Tasks.Enqueue(ctx, rec, out...)
	if errors.Is(err, state.ErrFinished) {
		return nil // the event has moved to the room's successor
	}
	if err != nil {
		return err
	}
	crash.At("queued")
	if len(out) > 0 {
		r.Out.Wake()
	}
	r.Wake()
	return nil
}

// taskFrom returns the task that a message asks for, or execution.ErrLimit if it is too large.
func taskFrom(row state.Event) (state.Task, error) {
	m, _ := row.Message()
	rec := state.Task{
		Source: state.FromRoom, Home: row.SentTo(), Thread: row.Relation().Thread(), ReplyTo: row.Relation().ReplyTo(),
		Execution: task.ExecutionID(row.Room, row.ID), Text: command.WithoutTask(m.Words()),
	}
	if f, ok := media.FileOf(row.Event); ok {
		rec.Text, rec.HasFile = task.WithFile(f, rec.Text), true
	}
	return task.New(rec, row)
}

// Unreadable says that a message cannot be processed: it is of an unknown type, or will never be decrypted.
func (r *Room) Unreadable(ctx context.Context, row state.Event) error {
	say := "🔒 I cannot decrypt this message. Please send it again."
	switch {
	case row.Kind == event.KindUnsupported:
		say = "I can only read text and files. Please describe your task in a message."
	case row.Encryption == event.Copy:
		say = "🔒 " + copyText
	}
	told := r.Out.Answer(row, state.KindUnreadable, state.KeyOf(row.Room, row.ID)+"-u", say)
	return r.Out.Reply(ctx, []state.Message{told}, row.ID)
}
