package task

import (
	"context"
	"time"

	"matrix-tui/bot/progress"
)

// place is where the progress of a task is shown: its notice.
type place struct {
	Room
	started []Message // sent with the notice or, if the task was queued, when it starts
	notice  Message   // without its text
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
	shown := place{t.env.Room, t.Voice().started(), t.Voice().notice("")}
	return progress.Show(ctx, life, shown, is, t.env.ID, t.env.Log)
}

// Begin is part of [progress.Place].
func (p place) Begin(ctx context.Context) error { return p.Queue(ctx, p.started...) }

// Post is part of [progress.Place].
func (p place) Post(ctx context.Context, text string, begins bool) error {
	notice := p.notice
	notice.Body = text
	if !begins {
		return p.Queue(ctx, notice)
	}
	return p.Queue(ctx, append(p.started, notice)...)
}

// Edit is part of [progress.Place].
func (p place) Edit(ctx context.Context, text string) bool {
	return p.Room.Edit(ctx, p.notice.Txn, text)
}
