package task

import (
	"context"
	"fmt"
	"strings"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/crash"
	"matrix-tui/bot/text"
	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/workspace"
)

// historyText bounds the part of an answer that the task record carries to the
// history, in bytes; the store's own bound is not larger.
const historyText = 16 << 10

// answer stores the result of a run and its messages, in one transaction with the
// task's new state: from here on the task is never run again. It is errSteered,
// and nothing is stored, when the task was told something that the run has not
// heard.
func (w *Work) answer(ctx context.Context, out agent.Outcome) error {
	said := w.result(ctx, out, w.closing(len(w.exec.Answers), w.summary(out)))
	rows := w.env.Room.Render(ctx, said...)
	return w.unlessSteered(ctx, func() error { return w.store(ctx, out, rows) })
}

// result enters an outcome into the task, and is what the room is told of it: the
// text, then more, then the reactions.
func (t *Task) result(ctx context.Context, out agent.Outcome, more ...Message) []Message {
	waited := t.exec.State == agent.Failed || t.exec.State == agent.WaitingForInput
	result := t.finalText(out)
	t.outcome(out, result)
	t.rec.Ended = string(out.Ended)
	if t.rec.Result = text.Cut(result, historyText); t.exec.State == agent.Done {
		t.rec.Result = t.exec.Results[0].Output
	}
	if t.rec.Resumable = out.Session != "" && out.Ended != agent.SessionGone; t.rec.Resumable {
		t.rec.Session = out.Session
	}
	grown, after := growth(out.Status, workspace.StatusPath)
	if waited {
		after = -1 // what the file was like at the end of its run says nothing
	}
	if t.rec.StatusSize = after; !grown || out.Ended == agent.Stopped {
		t.rec.StatusLine = workspace.StatusLines(time.Now(), t.text, statusOutcome(out))
	}
	said := append([]Message{t.final(result + t.footer(ctx, out))}, more...)
	return append(said, t.ended(out.Ended)...)
}

// store stores the result and ends other rows, closes. The caller holds the books.
func (t *Task) store(ctx context.Context, out agent.Outcome, rows []state.Message, closes ...string) error {
	if err := t.env.Journal.Answer(ctx, t.Row(), rows, closes...); err != nil {
		return fmt.Errorf("record answer: %w", err)
	}
	crash.At("answered")
	t.env.Room.Wake()
	t.env.Count.Ended(out.Ended, state.Usage(t.cost(out)))
	t.env.Log.Info().Str("room", t.env.ID).Str("event", t.rec.Event).Str("ended", string(out.Ended)).
		Int64("tokens", out.Usage.Total).Dur("took_ms", time.Since(t.rec.Begun)).Msg("task answered")
	return nil
}

// outcome enters how the task ended into its execution.
func (t *Task) outcome(out agent.Outcome, text string) {
	e, now := t.exec, time.Now()
	t.begin()
	if out.Ended == agent.Completed {
		_ = e.Complete(text, nil, now)
		return
	}
	_ = e.Fail(out.Detail, now) // refused where it waited, and has failed already
}

// begin is pending → running, where that has not been.
func (t *Task) begin() {
	if t.exec.State == agent.Pending {
		_ = t.exec.Start(time.Now()) // from pending there is no other way
	}
}

// giveUp ends a task whose room is gone; nobody is told.
func (t *Task) giveUp(ctx context.Context, why string) error {
	t.env.projecting.Lock()
	defer t.env.projecting.Unlock()
	t.begin()
	if err := t.exec.Fail(why, time.Now()); err == nil {
		if err := t.put(ctx); err != nil {
			t.env.Log.Warn().Err(err).Str("room", t.env.ID).Msg("save execution")
		}
	}
	if err := t.env.Journal.FinishTask(ctx, t.rec.Key); err != nil {
		return fmt.Errorf("finish task: %w", err)
	}
	return nil
}

// statusOutcome is the outcome for status.md: the first line of the answer.
func statusOutcome(out agent.Outcome) string {
	text := out.Detail
	if out.Ended == agent.Completed {
		text = out.Text
	}
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return first
}

// growth tells whether a watched file is longer than at the start, and how
// long it is, in bytes.
func growth(status sandbox.RunStatus, path string) (grown bool, after int64) {
	for _, w := range status.Watch {
		if w.Path == path {
			return w.After > w.Before, w.After
		}
	}
	return false, 0
}
