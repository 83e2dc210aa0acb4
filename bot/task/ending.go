package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/crash"
	"matrix-tui/bot/progress"
	"matrix-tui/bot/recall"
	"matrix-tui/bot/text"
	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/state/execution"
	"matrix-tui/workspace"
)

// historyText bounds the part of a result that goes into the history, in bytes. The
// store's own bound is not larger.
const historyText = 16 << 10

// ending is the end of a task: the outcome of its last run or, if it was waiting for an
// answer, a substitute. Its text is in result.go.
type ending struct {
	t     *Task
	out   agent.Outcome
	noted string // what the task has noted, in a line, or ""
}

// messages records the outcome in the task and returns the messages for the room: the last edit of the notice, if
// there is one, the reactions, and the answer, which is the task's last event. The notice has the figures, or else
// the answer has.
func (e ending) messages(noticed bool, shown *progress.Notice) (said []Message) {
	t, rec, out := e.t, &e.t.rec, e.out
	waited := t.exec.State == execution.Failed || t.exec.State == execution.WaitingForInput
	result := e.text()
	e.enter(result)
	rec.Ended, rec.Calls = string(out.Ended), callsOf(rec.Calls, out)
	if rec.Result = text.Cut(result, historyText); t.exec.State == execution.Done {
		rec.Result = t.exec.Results[0].Output
	}
	if rec.Resumable = out.Session != "" && out.Ended != agent.SessionGone; rec.Resumable {
		rec.Session = out.Session
	}
	if !rec.Compact {
		e.enterStatus(waited)
	}
	rec.NoOutbox = rec.Compact || slices.ContainsFunc(out.Status.Watch,
		func(w sandbox.Watched) bool { return w.Path == workspace.OutboxPath && w.Absent })
	if e.noted != "" {
		result += "\n\n" + e.noted
	}
	final := t.Voice().final(result+e.link(), t.env.NotifyComplete)
	failed, details := shown.Outcome()
	if noticed {
		said = append(said, t.Voice().closing(len(t.exec.Answers), e.heading(failed), details))
	} else if t.env.NotifyComplete {
		final.Small, final.Details = e.figures(failed), details
	}
	if quiet(rec) && e.noted == "" {
		if said = nil; noticed {
			said = append(said, redaction(rec.Key, noticeTxn(rec.Key, len(t.exec.Answers))))
		}
		return said
	}
	return append(append(said, t.Voice().ended(out.Ended)...), final)
}

// Unqueue ends a task that was stopped in the queue before its turn, and finishes the events in closes. The caller
// holds Env.Decisions and wakes the worker.
func (t *Task) Unqueue(ctx context.Context, closes ...string) error {
	noticed, err := t.noticed(ctx) // before a restart
	if err != nil {
		return err
	}
	t.rec.Begun = time.Now().UTC() // and it ends now
	e := ending{t: t, out: stoppedEarly()}
	return e.store(ctx, t.env.Room.Render(ctx, e.messages(noticed, nil)...), closes...)
}

// enter records the outcome in the execution.
func (e ending) enter(text string) {
	execution, now := e.t.exec, time.Now()
	start(execution)
	if e.out.Ended == agent.Completed {
		_ = execution.Complete(text, recall.Topics(e.t.text), now)
		return
	}
	_ = execution.Fail(e.out.Detail, now) // rejected if the task was waiting: it has failed already
}

// store stores the result, its messages and the task's new state in one transaction that
// also finishes the events in closes. The task never runs again. The caller holds
// Env.Decisions.
func (e ending) store(ctx context.Context, rows []state.Message, closes ...string) error {
	t, env := e.t, e.t.env
	paused, err := e.pauses(ctx)
	if err != nil {
		return err
	}
	rows = append(rows, env.Room.Render(ctx, paused...)...)
	row := t.Row()
	row.Used = state.Usage(e.cost())
	if err := env.Journal.Tasks.Answer(ctx, row, rows, closes...); err != nil {
		return fmt.Errorf("store result: %w", err)
	}
	crash.At("answered")
	env.Room.Wake()
	env.Count.Ended(e.out.Ended, row.Used)
	env.Log.Info().Str("room", env.ID).Str("event", t.rec.Event).Str("ended", string(e.out.Ended)).
		Int64("tokens", e.out.Usage.Total).Dur("took_ms", time.Since(t.rec.Begun)).Msg("task answered")
	return nil
}

// start moves a pending execution to running.
func start(e *execution.Execution) {
	if e.State == execution.Pending {
		_ = e.Start(time.Now()) // never fails from pending
	}
}

// giveUp marks a task as failed without a message to the room.
func giveUp(ctx context.Context, t *Task, why string) error {
	env := t.env
	if err := env.Journal.Tasks.GiveUp(ctx, t.rec.Key, why); err != nil {
		return fmt.Errorf("give up task: %w", err)
	}
	env.closeModel(t.rec.Key)
	return nil
}

// FinishAnswered ends a task whose result is in the room although the journal does not know that: it was restored
// from a backup. Call it before the task's worker starts. It is no error if there is no such task, or if it has
// ended.
func (e *Env) FinishAnswered(ctx context.Context, key string) error {
	rec, err := e.Journal.Tasks.Get(ctx, key)
	if errors.Is(err, state.ErrNotFound) || err == nil && rec.State == state.TaskDone {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read task: %w", err)
	}
	e.Waits.Drop(key)
	return giveUp(ctx, e.Task(rec), "It had ended before my state was restored from a backup. The result is in the room.")
}

// statusOutcome returns the outcome for status.md: the first line of the answer.
func statusOutcome(out agent.Outcome) string {
	text := out.Detail
	if out.Ended == agent.Completed {
		text = out.Text
	}
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return first
}

// enterStatus writes the task's entry for status.md. If the file may have changed since the last run, because the task
// has waited, its size is unknown.
func (e ending) enterStatus(waited bool) {
	rec, recall, answers := &e.t.rec, e.t.env.Recall, answersOf(e.t)
	rec.StatusSize = -1
	for _, w := range e.out.Status.Watch {
		if w.Path == workspace.StatusPath && !waited {
			rec.StatusSize = w.After
		}
	}
	rec.StatusLine = workspace.StatusLines(time.Now().In(e.t.env.rules().Zone), recall.Conceal(e.t.text, answers),
		recall.ConcealOutcome(statusOutcome(e.out), answers))
}
