package bot

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"matrix-tui/agent"
	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/sentence"
)

// doEdit applies an edit to a task, or to a part of one, that has not started, or
// to an answer that the run has not used yet.
func (r *room) doEdit(ctx context.Context, row state.Event) error {
	m, _ := row.Message()
	r.decisions.Lock()
	defer r.decisions.Unlock()
	target, words := m.RelatesTo.EventID, m.NewWords()
	rec, err := r.bot.Journal.TaskOf(ctx, r.id, target)
	if err == nil && rec.State == state.TaskQueued && rec.Requester == row.Sender {
		return r.rewrite(ctx, row, rec, words)
	}
	if err != nil && !errors.Is(err, state.ErrNotFound) {
		return fmt.Errorf("read task: %w", err)
	}
	tasks, err := r.begun(ctx)
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
		text := answerText(words)
		if source, err := r.bot.event(ctx, r.id, target); err == nil {
			if f, ok := fileOf(source.Event); ok {
				text = task.FileAnswer(f, target, text)
			}
		} else if !errors.Is(err, state.ErrNotFound) {
			return fmt.Errorf("read answer: %w", err)
		}
		return r.amend(ctx, row, t, target, text)
	}
	return r.finish(ctx, row)
}

// begun returns the tasks whose answers or added messages can still be edited:
// those that are running or queued again, and the task that the worker prepares
// or, if it has none, the next one.
func (r *room) begun(ctx context.Context) ([]state.Task, error) {
	tasks, err := r.bot.Journal.Tasks(ctx, r.id, state.TaskRunning)
	if err != nil {
		return nil, fmt.Errorf("read running tasks: %w", err)
	}
	var next state.Task
	if t := r.currentTask(); t != nil {
		next, err = r.bot.Journal.Task(ctx, t.Key())
	} else {
		next, err = r.bot.Journal.NextTask(ctx, r.id)
	}
	if err == nil && next.State == state.TaskQueued {
		tasks = append(tasks, next)
	} else if err != nil && !errors.Is(err, state.ErrNotFound) {
		return nil, fmt.Errorf("read next task: %w", err)
	}
	return tasks, nil
}

// rewrite replaces the text of a task that has not started and leaves its file
// alone. The caller holds r.decisions.
func (r *room) rewrite(ctx context.Context, row state.Event, rec state.Task, words string) error {
	words = strings.TrimSpace(taskWords(words))
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
// r.decisions.
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

// doRedaction withdraws a task whose message was redacted before the task started.
func (r *room) doRedaction(ctx context.Context, row state.Event) error {
	r.decisions.Lock()
	defer r.decisions.Unlock()
	rec, err := r.bot.Journal.TaskOf(ctx, r.id, row.Redaction())
	switch {
	case err == nil && rec.State == state.TaskQueued:
		rec.StopBy, rec.Withdrawn = row.Sender, true
		if err := r.env.Note(ctx, rec); err != nil {
			return err
		}
		r.signalStop(rec.Key, "")
	case err != nil && !errors.Is(err, state.ErrNotFound):
		return fmt.Errorf("read task: %w", err)
	case err != nil: // not a task yet: the message's key is missing
		one, err := r.bot.Journal.Event(ctx, r.id, row.Redaction())
		if err == nil && one.Status == state.Pending && one.Undecrypted() {
			err = r.finish(ctx, one)
		}
		if err != nil && !errors.Is(err, state.ErrNotFound) {
			return err
		}
	}
	return r.finish(ctx, row)
}

// editOf returns the new text of a message that was edited before it was
// processed, or "".
func (r *room) editOf(ctx context.Context, row state.Event) (text string, err error) {
	edit, err := r.bot.Journal.PendingEdit(ctx, r.id, row.ID, row.Sender)
	if errors.Is(err, state.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read pending edit: %w", err)
	}
	m, _ := edit.Message()
	return answerText(m.NewWords()), nil
}

// answerText returns an answer without a leading "!answer".
func answerText(body string) string {
	if c, rest, ok := parseCommand(body); ok && c.name == "answer" {
		body = rest
	}
	return strings.TrimSpace(body)
}

// amend replaces the newest answer of a task, which was given by the event
// edited. The caller holds r.decisions.
func (r *room) amend(ctx context.Context, row state.Event, t *task.Task, edited, text string) error {
	if t.Given().Answer == text {
		return r.finish(ctx, row) // the edit was already applied
	}
	if t.Continued() {
		return r.tell(ctx, row, "I already continued with your first answer. Use `!stop` to cancel the task, or tell me the change when it is done.")
	}
	err := t.Amend(ctx, edited, text)
	if errors.Is(err, agent.ErrLimit) {
		return r.tell(ctx, row, sentence.Text(err)+" Your first answer stands.")
	}
	if err != nil {
		return err
	}
	return r.finish(ctx, row)
}
