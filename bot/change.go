package bot

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"matrix-tui/bot/command"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/execution"
	"matrix-tui/state/sentence"
)

// doEdit applies an edit to a task, or to a part of one, that has not started, or
// to an answer that the run has not used yet. What becomes a command is done as one, and
// what mentions the bot now is a task. The room is told if an edit comes too late.
func (r *room) doEdit(ctx context.Context, row state.Event) error {
	now, err := r.edited(ctx, row)
	if err != nil {
		return err
	}
	if c, _, ok := command.Parse(now.Words()); !ok || c.IsTask() {
		return r.applyEdit(ctx, row, now)
	}
	own, err := r.withdrawEdited(ctx, row)
	if err != nil {
		return err
	}
	if !own && !r.mentions(ctx, row, now) {
		return r.applyEdit(ctx, row, now)
	}
	row.Body.Message = &now
	return r.doCommand(ctx, row)
}

// edited returns the message that an edit leaves, as far as the original is known.
func (r *room) edited(ctx context.Context, row state.Event) (event.Message, error) {
	m, _ := row.Message()
	original, err := r.bot.event(ctx, r.id, m.RelatesTo.EventID)
	if err != nil && !errors.Is(err, state.ErrNotFound) {
		return event.Message{}, fmt.Errorf("read edited message: %w", err)
	}
	first, _ := original.Message()
	if original.Sender != row.Sender {
		first = event.Message{MsgType: m.MsgType}
	}
	now, _ := first.Edited(m)
	return now, nil
}

// mentions reports whether a message that did not address the bot does so after an edit, in a room where that matters.
func (r *room) mentions(ctx context.Context, row state.Event, now event.Message) bool {
	original, err := r.bot.Journal.Events.Get(ctx, r.id, row.Relation().EventID)
	first, ok := original.Message()
	return err == nil && ok && original.Sender == row.Sender && !first.IsEdit() && original.Status != state.Pending &&
		!r.bot.query(ctx, r.id, original.Event).Mentioned && r.bot.addressee(now) == policy.TheBot &&
		r.bot.policy.Room(r.id).Reply.In(r.bot.roster.MayBeAlone(r.id)) == policy.MentionOnly
}

// withdrawEdited withdraws a task that has not started, because an edit makes a command of it. It reports whether the edit
// is of the sender's own task, which has no result yet.
func (r *room) withdrawEdited(ctx context.Context, row state.Event) (own bool, err error) {
	r.turn.Lock()
	defer r.turn.Unlock()
	rec, err := r.bot.Journal.Tasks.Of(ctx, r.id, row.Relation().EventID)
	if errors.Is(err, state.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read task: %w", err)
	}
	own = rec.Requester == row.Sender && rec.State != state.TaskDone && rec.State != state.TaskAnswered
	if own && rec.State == state.TaskQueued {
		err = r.stop.Withdraw(ctx, rec, row.Sender)
	}
	return own, err
}

// applyEdit is doEdit for what is no command now.
func (r *room) applyEdit(ctx context.Context, row state.Event, now event.Message) error {
	m, _ := row.Message()
	r.turn.Lock()
	defer r.turn.Unlock()
	target, words := m.RelatesTo.EventID, m.NewWords()
	unknown := command.IsUnknown(now.Words())
	rec, err := r.bot.Journal.Tasks.Of(ctx, r.id, target)
	switch {
	case err == nil && rec.Withdrawn && rec.Requester == row.Sender && unknown:
		return r.tell(ctx, row, command.Unknown(now.Words()))
	case err == nil && rec.Withdrawn && rec.Requester == row.Sender:
		return r.tell(ctx, row, "I dropped this task when you edited it before. Send it as a new message.")
	case err == nil && rec.State == state.TaskQueued && rec.Requester == row.Sender && unknown:
		if err := r.stop.Withdraw(ctx, rec, row.Sender); err != nil {
			return err
		}
		return r.tell(ctx, row, command.Unknown(now.Words()))
	case err == nil && rec.State == state.TaskQueued && rec.Requester == row.Sender:
		return r.rewrite(ctx, row, rec, words)
	case err == nil && rec.State != state.TaskDone && rec.State != state.TaskAnswered && rec.Requester == row.Sender:
		return r.tell(ctx, row, "I already work on what you wrote first. To change it, send `!steer` and what is different now.")
	case err == nil:
		return r.finish(ctx, row)
	case !errors.Is(err, state.ErrNotFound):
		return fmt.Errorf("read task: %w", err)
	}
	tasks, err := r.turn.Begun(ctx)
	if err != nil {
		return err
	}
	for _, rec := range tasks {
		if i := task.Unheard(rec, target, row.Sender); i >= 0 {
			return r.rewritePart(ctx, row, rec, i, words)
		}
		t := r.env.Task(rec)
		if given := t.Given(); given.Event != target || given.By != row.Sender {
			continue
		}
		text := command.WithoutAnswer(words)
		if source, err := r.bot.event(ctx, r.id, target); err == nil {
			if f, ok := fileOf(source.Event); ok {
				text = task.FileAnswer(f, text)
			}
		} else if !errors.Is(err, state.ErrNotFound) {
			return fmt.Errorf("read answer: %w", err)
		}
		return r.amend(ctx, row, t, target, text)
	}
	switch mentions := r.mentions(ctx, row, now); {
	case mentions && unknown:
		return r.tell(ctx, row, command.Unknown(now.Words()))
	case mentions:
		return r.enqueueEdited(ctx, row, now)
	}
	return r.finish(ctx, row)
}

// enqueueEdited makes a message a task that mentions the bot since it was edited. The caller holds r.turn.
func (r *room) enqueueEdited(ctx context.Context, row state.Event, now event.Message) error {
	original, err := r.bot.event(ctx, r.id, row.Relation().EventID)
	if err != nil {
		return fmt.Errorf("read edited message: %w", err)
	}
	original.Body.Message = &now
	rec, err := taskFrom(original)
	if errors.Is(err, execution.ErrLimit) {
		return r.tell(ctx, row, sentence.Text(err))
	}
	if err != nil {
		return err
	}
	if err := r.bot.Journal.Tasks.EnqueueEdited(ctx, rec, row.ID); err != nil && !errors.Is(err, state.ErrFinished) {
		return err
	}
	r.turn.Wake()
	return nil
}

// rewrite replaces the text of a task that has not started and leaves its file
// alone. The caller holds r.turn.
func (r *room) rewrite(ctx context.Context, row state.Event, rec state.Task, words string) error {
	words = strings.TrimSpace(command.WithoutTask(words))
	if rec.HasFile {
		source, err := r.bot.event(ctx, rec.Home, rec.Event)
		if err != nil {
			return fmt.Errorf("read the task's message: %w", err)
		}
		if f, ok := fileOf(source.Event); ok {
			words = task.WithFile(f, words)
		}
	}
	if words == "" {
		return r.finish(ctx, row)
	}
	rec.Text, rec.Edited = task.Rewritten(rec, words), true
	if err := r.env.Note(ctx, rec); err != nil {
		return err
	}
	return r.finish(ctx, row)
}

// rewritePart replaces a message that was added to a task. The caller holds
// r.turn.
func (r *room) rewritePart(ctx context.Context, row state.Event, rec state.Task, part int, words string) error {
	said := &rec.Said[part]
	if words = strings.TrimSpace(words); words == "" && !said.File {
		return r.finish(ctx, row)
	}
	said.Text, said.Edited = words, true
	if err := r.env.Note(ctx, rec); err != nil {
		return err
	}
	return r.finish(ctx, row)
}

// editOf returns the new text of a message that was edited before it was
// processed, or "".
func (r *room) editOf(ctx context.Context, row state.Event) (text string, err error) {
	edit, err := r.bot.Journal.Events.PendingEdit(ctx, r.id, row.ID, row.Sender)
	if errors.Is(err, state.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read pending edit: %w", err)
	}
	if said, err := r.bot.proof.Missing(ctx, edit.Event, policy.ProofAll); err != nil || said != "" {
		return "", err
	}
	m, _ := edit.Message()
	return command.WithoutAnswer(m.NewWords()), nil
}

// amend replaces the newest answer of a task, which was given by the event
// edited. The caller holds r.turn.
func (r *room) amend(ctx context.Context, row state.Event, t *task.Task, edited, text string) error {
	if yes, _ := t.Question().Affirms(text); yes && t.Given().Answer != text && !t.Continued() {
		return r.tell(ctx, row, editApproves)
	}
	if t.Given().Answer != text { // else the edit was already applied
		if t.Continued() {
			return r.tell(ctx, row, "I already continued with your first answer. Use `!stop` to cancel the task, or tell me the change when it is done.")
		}
		err := t.Amend(ctx, edited, text)
		if errors.Is(err, execution.ErrLimit) {
			return r.tell(ctx, row, sentence.Text(err)+" Your first answer stands.")
		}
		if err != nil {
			return err
		}
	}
	if err := r.unquote(ctx, edited); err != nil { // the question shows the first answer
		return err
	}
	return r.finish(ctx, row)
}
