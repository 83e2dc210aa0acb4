package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// doRedaction withdraws what no run has received of a redacted message: a task, a part of one, or an answer. What the
// message said is removed wherever it is kept.
func (r *room) doRedaction(ctx context.Context, row state.Event) error {
	r.turn.Lock()
	defer r.turn.Unlock()
	target := row.Redaction()
	rec, err := r.bot.Journal.Tasks.Of(ctx, r.id, target)
	switch {
	case err == nil && rec.State == state.TaskQueued:
		err = r.stop.Withdraw(ctx, rec, row.Sender)
	case errors.Is(err, state.ErrNotFound):
		err = r.withdrawPart(ctx, target)
	}
	if err != nil {
		return fmt.Errorf("withdraw redacted message: %w", err)
	}
	one, err := r.bot.Journal.Events.Get(ctx, r.id, target)
	if err == nil && one.Status == state.Pending && one.Undecrypted() { // not a task yet: the message's key is missing
		err = r.finish(ctx, one)
	}
	if err != nil && !errors.Is(err, state.ErrNotFound) {
		return err
	}
	if one.Type == event.TypeReaction {
		return r.finish(ctx, row) // it has no words, and what it answered stays answered
	}
	if err := r.unquote(ctx, target); err != nil {
		return err
	}
	// Tasks that had ended have not moved. The successor goes first: the last one removes the message itself.
	for _, id := range slices.Compact([]string{r.bot.Store.SuccessorOf(r.id), r.id}) {
		if err := r.bot.room(id).env.Redact(ctx, r.id, target); err != nil {
			return err
		}
	}
	return r.finish(ctx, row)
}

// unquote removes the edit of a question that shows what an event answered, if there is one.
func (r *room) unquote(ctx context.Context, answer string) error {
	choice := task.ChoiceTxn(r.id, answer)
	edit, err := r.bot.Journal.Messages.Get(ctx, choice)
	if errors.Is(err, state.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look up the edit of a question: %w", err)
	}
	if err := r.queue(ctx, state.Message{Room: r.id, Kind: state.KindRedaction, Task: edit.Task, Txn: choice + "-x", Relation: state.Redaction, About: choice}); err != nil {
		return err
	}
	return r.bot.Journal.Messages.Unsay(ctx, choice)
}

// deletedSay takes the place of what a run would have received.
const deletedSay = "(This message was deleted before you received it. Ask again if you need it.)"

// withdrawPart takes back a message that was added to a task, or the answer to its question, unless a run has received
// it. The caller holds r.turn.
func (r *room) withdrawPart(ctx context.Context, target string) error {
	tasks, err := r.turn.Begun(ctx)
	if err != nil {
		return err
	}
	queued, err := r.bot.Journal.Tasks.In(ctx, r.id, state.TaskQueued)
	if err != nil {
		return err
	}
	for _, rec := range append(tasks, queued...) {
		for i := rec.Given; i < len(rec.Said); i++ {
			if rec.Said[i].Event != target {
				continue
			}
			rec.Said[i].Text, rec.Said[i].File, rec.Said[i].Edited = deletedSay, false, false
			return r.env.Note(ctx, rec)
		}
		if t := r.env.Task(rec); t.Given().Event == target && !t.Continued() {
			return t.Amend(ctx, target, deletedSay)
		}
	}
	return nil
}
