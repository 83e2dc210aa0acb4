package decide

import (
	"context"
	"errors"
	"fmt"

	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// Withdraw withdraws what no run has received of a redacted message: a task, a part of one, or an answer. words reports
// that the message may have said something, which is still to be removed wherever it is kept. The caller holds the
// lock.
func (r *Room) Withdraw(ctx context.Context, row state.Event) (words bool, err error) {
	target := row.Redaction()
	rec, err := r.Env.Journal.Tasks.Of(ctx, r.Env.ID, target)
	switch {
	case err == nil && rec.State == state.TaskQueued:
		err = r.Orders.Withdraw(ctx, rec, row.Sender)
	case errors.Is(err, state.ErrNotFound):
		err = r.withdrawPart(ctx, target)
	}
	if err != nil {
		return false, fmt.Errorf("withdraw redacted message: %w", err)
	}
	one, err := r.Env.Journal.Events.Get(ctx, r.Env.ID, target)
	if err == nil && one.Status == state.Pending && one.Undecrypted() { // not a task yet: the message's key is missing
		err = r.Finish(ctx, one)
	}
	if err != nil && !errors.Is(err, state.ErrNotFound) {
		return false, err
	}
	if one.Type == event.TypeReaction {
		return false, nil // it has no words, and what it answered stays answered
	}
	return true, r.unquote(ctx, target)
}

// unquote removes the edit of a question that shows what an event answered, if there is one.
func (r *Room) unquote(ctx context.Context, answer string) error {
	choice := task.ChoiceTxn(r.Env.ID, answer)
	edit, err := r.Env.Journal.Messages.Get(ctx, choice)
	if errors.Is(err, state.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look up the edit of a question: %w", err)
	}
	gone := state.Message{
		Room: r.Env.ID, Kind: state.KindRedaction, Task: edit.Task, Txn: choice + "-x", Relation: state.Redaction,
		About: choice,
	}
	if err := r.Out.Queue(ctx, gone); err != nil {
		return err
	}
	return r.Env.Journal.Messages.Unsay(ctx, choice)
}

// deletedSay takes the place of what a run would have received.
const deletedSay = "(This message was deleted before you received it. Ask again if you need it.)"

// withdrawPart takes back a message that was added to a task, or the answer to its question, unless a run has received
// it. The caller holds the lock.
func (r *Room) withdrawPart(ctx context.Context, target string) error {
	tasks, err := r.Begun(ctx)
	if err != nil {
		return err
	}
	queued, err := r.Env.Journal.Tasks.In(ctx, r.Env.ID, state.TaskQueued)
	if err != nil {
		return err
	}
	for _, rec := range append(tasks, queued...) {
		for i := rec.Given; i < len(rec.Said); i++ {
			if rec.Said[i].Event != target {
				continue
			}
			rec.Said[i].Text, rec.Said[i].File, rec.Said[i].Edited = deletedSay, false, false
			return r.Env.Note(ctx, rec)
		}
		if t := r.Env.Task(rec); t.Given().Event == target && !t.Continued() {
			return t.Amend(ctx, target, deletedSay)
		}
	}
	return nil
}
