package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"matrix-tui/agent"
	"matrix-tui/state"
	"matrix-tui/state/retry"
)

var (
	errStopped = errors.New("task stopped")
	errSteered = errors.New("new message for the task")
)

// reread updates the task with stop requests, messages and edits from the journal. It
// returns errStopped after a stop request. The caller holds Env.Decisions.
func (t *Task) reread(ctx context.Context) error {
	row, err := t.env.Journal.Tasks.Get(ctx, t.rec.Key)
	if err != nil {
		return fmt.Errorf("read task again: %w", err)
	}
	now := t.env.Task(row)
	t.exec.Answers, t.rec.Said = now.exec.Answers, row.Said
	t.rec.Text, t.rec.Edited, t.text = row.Text, row.Edited, now.text
	t.exec.Transcript = now.exec.Transcript
	if row.StopBy != "" {
		t.rec.StopBy, t.rec.Withdrawn = row.StopBy, row.Withdrawn
		return errStopped
	}
	return nil
}

// decide rereads the task and calls write, which stores a decision about it. After a
// stop request it returns errStopped instead.
func (t *Task) decide(ctx context.Context, write func() error) error {
	t.env.Decisions.Lock()
	defer t.env.Decisions.Unlock()
	if err := t.reread(ctx); err != nil {
		return err
	}
	return write()
}

// unlessSteered calls write, which stores the result of a run. If there is a new message
// that the run did not receive, it returns errSteered instead.
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

// steered reports whether there is a message that no run has received, and plans a run
// that does. The last run has ended.
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
	if rec.Container != "" { // a run received the messages before this one
		t.again(out, w.acted.Load())
	}
	return true, debounce(ctx, t)
}

// again records a run that has ended without an end of the task, and plans the next one. acted says that the agent has
// called a tool.
func (t *Task) again(out agent.Outcome, acted bool) {
	rec := &t.rec
	rec.Told = rec.Given
	rec.Used = state.Usage(used(rec.Used).with(rec.Begun, out))
	rec.Calls = callsOf(rec.Calls, out)
	if rec.Resumable = out.Session != "" && (rec.Resume || acted); rec.Resumable {
		rec.Session = out.Session
	} else {
		rec.Told = 0 // a session without tool calls is replaced by one that gets everything
	}
	t.plan(agent.NeedsInput)
}

// debounce waits for more messages to join the task if the newest one did.
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

// WordsTime is how long a file without words waits for them while its sender types.
const WordsTime = 30 * time.Second

// wordless reports whether a task is only files.
func wordless(rec *state.Task) bool {
	return rec.HasFile && rec.Text == "" && !slices.ContainsFunc(rec.Said, func(s state.Said) bool { return s.Text != "" })
}

// awaitWords waits while the sender of a file without words types them. They join the task, and end the wait as ctx.
func (t *Task) awaitWords(ctx context.Context) {
	asker := t.rec.Asker()
	for until := time.Now().Add(WordsTime); t.env.Debounce > 0 && wordless(&t.rec) && t.env.Room.Types(asker) &&
		time.Now().Before(until); {
		if retry.Sleep(ctx, 100*time.Millisecond) != nil {
			return
		}
	}
}

// newestPart returns the time of the newest message that belongs to the task.
func newestPart(rec state.Task) time.Time {
	at := rec.Time
	for _, said := range rec.Said {
		if said.Joined && said.At.After(at) {
			at = said.At
		}
	}
	return at
}

// Joins reports whether a message becomes a part of a task that has not started: it is by
// the same person and follows the newest part within the debounce time.
func (t *Task) Joins(row state.Event) bool {
	return joins(&t.rec, wordless(&t.rec), row, newestPart(t.rec), t.env.Debounce)
}

func joins(rec *state.Task, silent bool, row state.Event, newest time.Time, debounce time.Duration) bool {
	if silent && debounce > 0 {
		debounce = max(debounce, WordsTime)
	}
	gap := row.Time.Sub(newest)
	return !rec.Compact && rec.StopBy == "" && rec.Asker() == row.Sender && rec.Seq < row.Seq && gap >= 0 &&
		gap <= debounce
}
