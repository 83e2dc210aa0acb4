package task

import (
	"context"
	"errors"
	"fmt"
	"time"

	"matrix-tui/agent"
	"matrix-tui/state"
	"matrix-tui/state/retry"
)

var (
	errStopped = errors.New("the task was told to stop")
	errSteered = errors.New("the task was told something new")
)

// reread takes over what others have written into the task's record. It is
// errStopped when that is to stop. The caller holds the books.
func (t *Task) reread(ctx context.Context) error {
	row, err := t.env.Journal.Task(ctx, t.rec.Key)
	if err != nil {
		return fmt.Errorf("read task again: %w", err)
	}
	if row.StopBy != "" {
		t.rec.StopBy, t.rec.Withdrawn = row.StopBy, row.Withdrawn
		return errStopped
	}
	now := t.env.Task(row)
	t.exec.Answers, t.rec.Said = now.exec.Answers, row.Said
	t.rec.Text, t.rec.Edited, t.text = row.Text, row.Edited, now.text
	t.exec.Transcript = now.exec.Transcript
	return nil
}

// decide has write store a decision about the task, by what people have said to it
// until now. It is errStopped, and nothing is written, when that was to stop.
func (t *Task) decide(ctx context.Context, write func() error) error {
	t.env.Decisions.Lock()
	defer t.env.Decisions.Unlock()
	if err := t.reread(ctx); err != nil {
		return err
	}
	return write()
}

// unlessSteered has write store how a run came out, unless the task was told
// something that the run has not heard: then it is errSteered.
func (t *Task) unlessSteered(ctx context.Context, write func() error) error {
	t.env.Decisions.Lock()
	defer t.env.Decisions.Unlock()
	if err := t.reread(ctx); err != nil && !errors.Is(err, errStopped) {
		return err
	} else if err == nil && len(t.rec.Said) > t.rec.Given {
		return errSteered
	}
	return write()
}

// steered reports whether the task was told something that no run has heard, and
// readies it for the run that does. The caller has ended the last one.
func (w *Work) steered(ctx context.Context, out agent.Outcome) (bool, error) {
	t, rec := w.task, &w.task.rec
	err := t.decide(ctx, func() error { return nil })
	if errors.Is(err, errStopped) || err == nil && len(rec.Said) == rec.Given {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	w.stop.rearm()
	if rec.Container != "" { // a run has heard what came before
		rec.Told = rec.Given
		rec.Used = state.Usage(used(rec.Used).with(rec.Begun, out))
		if rec.Resumable = out.Session != "" && (rec.Resume || w.acted.Load()); rec.Resumable {
			rec.Session = out.Session
		} else {
			rec.Told = 0 // a session that has hardly begun is begun anew, with everything
		}
		t.plan(agent.NeedsInput)
	}
	return true, debounce(ctx, t)
}

// settleDown waits until nobody adds to the task any more, where the newest
// text is a part of it.
func debounce(ctx context.Context, t *Task) error {
	last := t.rec.Said[len(t.rec.Said)-1]
	if !last.Joined {
		return nil
	}
	if wait := time.Until(last.At.Add(t.env.Debounce)); wait > 0 && wait <= t.env.Debounce {
		return retry.Sleep(ctx, wait)
	}
	return nil
}

// newestPart is when the newest message that belongs to the task was written.
func newestPart(rec state.Task) time.Time {
	at := rec.Time
	for _, said := range rec.Said {
		if said.Joined && said.At.After(at) {
			at = said.At
		}
	}
	return at
}

// Joins reports whether a message is a part of a task that has not begun: by the
// same person, right behind its newest part.
func (t *Task) Joins(row state.Event) bool {
	return joins(&t.rec, row, newestPart(t.rec), t.env.Debounce)
}

func joins(rec *state.Task, row state.Event, newest time.Time, debounce time.Duration) bool {
	gap := row.Time.Sub(newest)
	return AskerOf(*rec) == row.Sender && rec.Seq < row.Seq && gap >= 0 && gap <= debounce
}
