package task

import (
	"context"
	"errors"
	"time"

	"matrix-tui/agent"
	"matrix-tui/state"
	"matrix-tui/state/retry"
)

// steered tells whether the task was told something that no run has heard, and
// readies it for the run that does. The caller has ended the last one.
func (w *Work) steered(ctx context.Context, out agent.Outcome) (bool, error) {
	w.env.Books.Lock()
	err := w.reread(ctx)
	w.env.Books.Unlock()
	if errors.Is(err, errStopped) || err == nil && len(w.rec.Said) == w.rec.Given {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	w.rearm()
	if w.rec.Container != "" { // a run has heard what came before
		w.rec.Told = w.rec.Given
		w.rec.Used = state.Usage(used(w.rec.Used).with(w.rec.Begun, out))
		if w.rec.Resumable = out.Session != "" && (w.rec.Resume || w.acted.Load()); w.rec.Resumable {
			w.rec.Session = out.Session
		} else {
			w.rec.Told = 0 // a session that has hardly begun is begun anew, with everything
		}
		w.plan(agent.NeedsInput)
	}
	return true, w.settleDown(ctx)
}

// unlessSteered writes down how a run came out, unless the task was told
// something that the run has not heard: then it is errSteered.
func (w *Work) unlessSteered(ctx context.Context, write func() error) error {
	w.env.Books.Lock()
	defer w.env.Books.Unlock()
	if err := w.reread(ctx); err != nil && !errors.Is(err, errStopped) {
		return err
	} else if err == nil && len(w.rec.Said) > w.rec.Given {
		return errSteered
	}
	return write()
}

// settleDown waits until nobody adds to the task any more, where the newest
// text is a part of it.
func (w *Work) settleDown(ctx context.Context) error {
	last := w.rec.Said[len(w.rec.Said)-1]
	if !last.Joined {
		return nil
	}
	if wait := time.Until(last.At.Add(w.env.Debounce)); wait > 0 && wait <= w.env.Debounce {
		return retry.Sleep(ctx, wait)
	}
	return nil
}

var errSteered = errors.New("the task was told something new")

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

var errStopped = errors.New("the task was told to stop")

// Joins tells whether a message is a part of a task that has not begun: by the
// same person, right behind its newest part.
func (t *Task) Joins(row state.Event) bool { return t.joins(row, newestPart(t.rec)) }

func (t *Task) joins(row state.Event, newest time.Time) bool {
	gap := row.Time.Sub(newest)
	return t.Asker() == row.Sender && t.taken.Seq < row.Seq && gap >= 0 && gap <= t.env.Debounce
}
