package task

import (
	"context"
	"strings"
	"time"

	"matrix-tui/bot/progress"
	"matrix-tui/bot/text"
	"matrix-tui/state"
)

// place is where the progress of a task is shown: its notice.
type place struct {
	Room
	started []Message // sent with the notice or, if the task was queued, when it starts
	notice  Message   // without its text
	page    string    // the address of the task's page, or ""
}

// showProgress shows that the task runs, or what it waits for.
func showProgress(ctx, life context.Context, t *Task, waits string) (*progress.Notice, error) {
	is := progress.State{Since: t.rec.Begun, Waits: waits, Rested: !t.rec.Due.At.IsZero()}
	if is.Since.IsZero() {
		is.Since = time.Now()
	}
	var err error
	if is.Posted, err = t.noticed(ctx); err != nil { // before a restart, or with an answer
		return nil, err
	}
	if is.Said, err = t.said(ctx, t.Voice().Queued().Txn); err != nil {
		return nil, err
	}
	started, err := t.needed(ctx, t.Voice().started())
	if err != nil {
		return nil, err
	}
	shown := place{t.env.Room, started, t.Voice().notice(""), t.page()}
	return progress.Show(ctx, life, shown, is, t.env.ID, t.env.Log)
}

// Begin is part of [progress.Place].
func (p place) Begin(ctx context.Context) error {
	if len(p.started) == 0 {
		return nil
	}
	return p.Queue(ctx, p.started...)
}

// Post is part of [progress.Place].
func (p place) Post(ctx context.Context, text string, begins bool) error {
	notice := p.notice
	notice.Body = p.linked(text)
	if !begins {
		return p.Queue(ctx, notice)
	}
	return p.Queue(ctx, append(p.started, notice)...)
}

// Edit is part of [progress.Place].
func (p place) Edit(ctx context.Context, text string) bool {
	return p.Room.Edit(ctx, p.notice.Txn, p.linked(text))
}

// Fits is part of [progress.Place].
func (p place) Fits(text string) bool { return p.Room.Fits(p.linked(text)) }

// linked makes the beginning of a notice lead to the task's page.
func (p place) linked(notice string) string {
	rest, works := strings.CutPrefix(notice, text.Working)
	if p.page == "" || !works {
		return notice
	}
	mark, words, _ := strings.Cut(text.Working, " ")
	return mark + " [" + words + "](" + p.page + ")" + rest
}

// page returns the address of the task's page, or "" if there is none.
func (t *Task) page() string {
	if t.env.PageURL == "" {
		return ""
	}
	return t.env.PageURL + "/t/" + t.exec.ID
}

// needed leaves out reactions that the room has or will have, and redactions of those that it has not or that it takes
// back already: a row before the answer delays it.
func (t *Task) needed(ctx context.Context, all []Message) (needed []Message, err error) {
	for _, m := range all {
		useless := false
		if m.Kind == state.KindReaction || m.Kind == state.KindRedaction {
			useless, err = t.said(ctx, m.Txn)
		}
		if err == nil && !useless && m.Kind == state.KindRedaction {
			useless, err = t.said(ctx, m.About)
			useless = !useless
		}
		if err != nil {
			return nil, err
		}
		if !useless {
			needed = append(needed, m)
		}
	}
	return needed, nil
}
