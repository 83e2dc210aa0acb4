package bot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"matrix-tui/agent"
	"matrix-tui/state"
)

// doEdit takes over a task that was changed before it began, or an answer that
// was changed before the run went on with it.
func (r *room) doEdit(ctx context.Context, row state.Inbound) error {
	e, _ := parseEvent(row.Raw)
	m, _ := e.message()
	r.books.Lock()
	defer r.books.Unlock()
	rows, err := r.bot.Journal.Unfinished(ctx, r.id)
	if err != nil {
		return fmt.Errorf("read unfinished rows: %w", err)
	}
	for _, one := range rows {
		if one.Status == state.Pending && one.Event == m.RelatesTo.EventID && one.Sender == row.Sender {
			return r.rewrite(ctx, row, one, m.NewContent.Body)
		}
		if one.Status != state.Running {
			continue
		}
		t, err := newTask(r, one)
		if err != nil {
			return err
		}
		answers := t.rec.Execution.Answers
		if len(answers) == 0 || answers[len(answers)-1].Event != m.RelatesTo.EventID || answers[len(answers)-1].By != row.Sender {
			continue
		}
		return r.amend(ctx, row, t, m.RelatesTo.EventID, answerText(m.NewContent.Body))
	}
	return r.finish(ctx, row)
}

// rewrite changes the text of a task that has not begun. The caller holds the
// books.
func (r *room) rewrite(ctx context.Context, row, task state.Inbound, text string) error {
	if kindOf, _ := parseEvent(task.Raw); r.classify(ctx, kindOf) != kindTask {
		return r.finish(ctx, row)
	}
	t, err := newTask(r, task)
	if err != nil {
		return err
	}
	if t.rec.Text = strings.TrimSpace(text); t.rec.Text == "" {
		return r.finish(ctx, row)
	}
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
			text = answerText(m.NewContent.Body)
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
		var full *agent.LimitError
		if errors.As(err, &full) {
			return r.tell(ctx, row, full.Sentence()+" Your first answer stands.")
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
