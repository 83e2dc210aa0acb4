package bot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"matrix-tui/agent"
	"matrix-tui/state"
	"matrix-tui/state/sentence"
)

// doEdit takes over a task, or a part of one, that was changed before it began,
// or an answer that was changed before the run went on with it.
func (r *room) doEdit(ctx context.Context, row state.Inbound) error {
	e, _ := parseEvent(row.Raw)
	m, _ := e.message()
	r.books.Lock()
	defer r.books.Unlock()
	rows, err := r.bot.Journal.Unfinished(ctx, r.id)
	if err != nil {
		return fmt.Errorf("read unfinished rows: %w", err)
	}
	target, words := m.RelatesTo.EventID, m.NewContent.Words()
	for _, one := range rows {
		if one.Status == state.Pending && one.Event == target && one.Sender == row.Sender {
			return r.rewrite(ctx, row, one, words)
		}
		if one.Status != state.Running && one.Status != state.Pending || len(one.Task) == 0 {
			continue
		}
		t, err := newTask(r, one)
		if err != nil {
			return err
		}
		if i := t.unheard(target, row.Sender); i >= 0 {
			return r.rewritePart(ctx, row, t, i, words)
		}
		answers := t.rec.Execution.Answers
		if len(answers) == 0 || answers[len(answers)-1].Event != target || answers[len(answers)-1].By != row.Sender {
			continue
		}
		text := answerText(words)
		if source, err := r.bot.Journal.Event(ctx, r.id, target); err == nil {
			if f, ok := fileOf(source); ok {
				text = fileAnswer(f, target, text)
			}
		} else if !errors.Is(err, state.ErrNotFound) {
			return fmt.Errorf("read answer: %w", err)
		}
		return r.amend(ctx, row, t, target, text)
	}
	return r.finish(ctx, row)
}

// rewrite changes the text of a task that has not begun, and nothing of what came
// with it. The caller holds the books.
func (r *room) rewrite(ctx context.Context, row, task state.Inbound, words string) error {
	if kindOf, _ := parseEvent(task.Raw); r.classify(ctx, kindOf) != kindTask {
		return r.finish(ctx, row)
	}
	t, err := newTask(r, task)
	if err != nil {
		return err
	}
	words = strings.TrimSpace(taskWords(words))
	if f, ok := fileOf(task); ok {
		words = fileTask(f, words)
	}
	if t.rec.Text = words; t.rec.Text == "" {
		return r.finish(ctx, row)
	}
	if err := t.note(ctx); err != nil {
		return err
	}
	return r.finish(ctx, row)
}

// unheard is which of the texts that were said to the task came by an event of
// sender's and was told to no run yet, -1 for none.
func (t *task) unheard(event, sender string) int {
	for i := t.rec.Given; i < len(t.rec.Steer); i++ {
		if t.rec.Steer[i].Event == event && t.rec.Steer[i].By == sender {
			return i
		}
	}
	return -1
}

// rewritePart changes a text that was said to a task. The caller holds the books.
func (r *room) rewritePart(ctx context.Context, row state.Inbound, t *task, part int, words string) error {
	said := &t.rec.Steer[part]
	if words = strings.TrimSpace(words); words == "" && !said.File {
		return r.finish(ctx, row)
	}
	said.Text, said.Edited = words, true
	if err := t.note(ctx); err != nil {
		return err
	}
	return r.finish(ctx, row)
}

// doRedaction withdraws a task that was taken back before it began.
func (r *room) doRedaction(ctx context.Context, row state.Inbound) error {
	e, _ := parseEvent(row.Raw)
	r.books.Lock()
	defer r.books.Unlock()
	rows, err := r.bot.Journal.Unfinished(ctx, r.id)
	if err != nil {
		return fmt.Errorf("read unfinished rows: %w", err)
	}
	for _, one := range rows {
		if one.Event != e.redaction() || one.Status != state.Pending {
			continue
		}
		t, err := newTask(r, one)
		if err != nil {
			return err
		}
		t.rec.Stop = &stopOrder{By: row.Sender, Silent: true}
		if err := t.note(ctx); err != nil {
			return err
		}
		r.signalStop(t.key, "")
	}
	return r.finish(ctx, row)
}

// editOf is what a message was changed to before it was looked at, "" for
// nothing.
func (r *room) editOf(ctx context.Context, row state.Inbound) (text string, err error) {
	rows, err := r.bot.Journal.Unfinished(ctx, r.id)
	if err != nil {
		return "", fmt.Errorf("read unfinished rows: %w", err)
	}
	for _, later := range rows {
		e, _ := parseEvent(later.Raw)
		m, _ := e.message()
		if later.Sender == row.Sender && m.RelatesTo.RelType == "m.replace" && m.RelatesTo.EventID == row.Event {
			text = answerText(m.NewContent.Words())
		}
	}
	return text, nil
}

// answerText is an answer without the word that it may begin with.
func answerText(body string) string {
	if c, rest, ok := parseCommand(body); ok && c.name == "answer" {
		body = rest
	}
	return strings.TrimSpace(body)
}

// amend changes the newest answer of a task, which came as the event edited.
// The caller holds the books.
func (r *room) amend(ctx context.Context, row state.Inbound, t *task, edited, text string) error {
	if answers := t.rec.Execution.Answers; answers[len(answers)-1].Answer == text {
		return r.finish(ctx, row) // it was taken so already
	}
	if t.rec.Box != "" || t.rec.Ran != nil {
		return r.tell(ctx, row, "I had gone on with your first answer already. `!stop` ends the task; otherwise tell me the change when it is done.")
	}
	if _, err := t.rec.Execution.Amend(edited, text, time.Now()); err != nil {
		if errors.Is(err, agent.ErrLimit) {
			return r.tell(ctx, row, sentence.Text(err)+" Your first answer stands.")
		}
		return err
	}
	data, err := t.encoded()
	if err != nil {
		return err
	}
	if err := r.bot.Journal.Note(ctx, r.id, t.row.Event, data); err != nil {
		return fmt.Errorf("note the changed answer: %w", err)
	}
	t.projectSoon(ctx)
	return r.finish(ctx, row)
}
