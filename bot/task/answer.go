package task

import (
	"context"
	"fmt"
	"slices"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/crash"
	"matrix-tui/state"
	"matrix-tui/state/execution"
	"matrix-tui/state/sentence"
	"matrix-tui/state/transcripts"
)

// Resume stores an answer and plans the next run, in one transaction that also
// finishes the events in closes; busy reports whether the worker has another task. The
// answer is for the open question, or for the one with this number, from 1. One with the
// key of an earlier answer changes nothing. The caller wakes the worker. The error is an
// *execution.TransitionError if the task is not waiting for that answer, and execution.ErrLimit if
// the answer is empty or too long, or must name its question.
func (e *Env) Resume(ctx context.Context, key string, given execution.Answer, number int,
	busy func(key string) bool, closes ...string) (*Task, error) {
	e.Decisions.Lock()
	defer e.Decisions.Unlock()
	rec, err := e.Journal.Tasks.Get(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("read task: %w", err)
	}
	t := e.Task(rec)
	if given.Key != "" && slices.ContainsFunc(t.exec.Answers,
		func(a execution.Answer) bool { return a.Key == given.Key }) {
		return t, nil
	}
	if rec.State != state.TaskWaiting {
		return t, &execution.TransitionError{ID: t.exec.ID, From: t.exec.State, To: execution.Running}
	}
	open := t.exec.QuestionNumber()
	if number != 0 && number != open {
		return t, &execution.TransitionError{ID: t.exec.ID, From: execution.Running,
			To: execution.Running} // that one was answered, or was not asked
	}
	last := t.Given()
	if repeated := last.Answer == given.Answer && last.By == "" && given.By == ""; repeated && rec.HeldCommand != "" &&
		number == 0 && given.Key == "" {
		return t, sentence.Newf(execution.ErrLimit,
			"This could be your last answer again, but the task now asks for the approval of a command. If you mean that, "+
				"send \"question\": \"%d\" as well.", open)
	}
	closed := t.Question().closed(t.Question().choice(given), given.Event)
	if err := t.exec.Resume(given, time.Now()); err != nil {
		return t, err
	}
	t.rec.Around = ""
	t.plan(agent.NeedsInput)
	notice := t.Voice().notice(continuing(busy(key)))
	if err := e.Journal.Tasks.Resume(ctx, t.Row(), e.Room.Render(ctx, append([]Message{notice}, closed...)...),
		closes...); err != nil {
		return t, fmt.Errorf("store answer: %w", err)
	}
	crash.At("bound")
	e.Waits.Drop(key)
	e.Count.Answered()
	e.Room.Wake()
	e.Log.Info().Str("room", e.ID).Str("execution", t.exec.ID).Msg("question answered")
	return t, nil
}

// NoteAnswer adds the newest answer to the transcript.
func (t *Task) NoteAnswer() {
	transcriptOf(t).once(transcripts.KindUser, answerEvent(t.rec.Key, len(t.exec.Answers)-1, t.Given()), t.Given().Answer)
}

// answerEvent returns the event ID of an answer, or a unique substitute if it has none.
func answerEvent(key string, n int, a execution.Answer) string {
	if a.Event != "" {
		return a.Event
	}
	return fmt.Sprintf("%s-a%d", key, n)
}

// Given returns the newest answer, or an empty one.
func (t *Task) Given() execution.Answer {
	if n := len(t.exec.Answers); n > 0 {
		return t.exec.Answers[n-1]
	}
	return execution.Answer{}
}

// Continued reports whether a run or a command has started since the newest answer.
func (t *Task) Continued() bool { return t.rec.Container != "" || t.rec.Approved != nil }

// Amend changes the newest answer, which came as the event edited and which no run has
// received yet. The error is execution.ErrLimit if the text is empty or too long. The caller
// holds Env.Decisions.
func (t *Task) Amend(ctx context.Context, edited, text string) error {
	if _, err := t.exec.Amend(edited, text, time.Now()); err != nil {
		return err
	}
	if err := t.env.Note(ctx, t.Row()); err != nil {
		return fmt.Errorf("store the changed answer: %w", err)
	}
	return nil
}

// Unheard returns the index in rec.Said of the message from an event of sender that no
// run has received yet, or -1.
func Unheard(rec state.Task, event, sender string) int {
	for i := rec.Given; i < len(rec.Said); i++ {
		if rec.Said[i].Event == event && rec.Said[i].By == sender {
			return i
		}
	}
	return -1
}

// continuing returns the text of the notice when a task continues with an answer.
func continuing(busy bool) string {
	if busy {
		return "⏳ Continuing when the running task is done …"
	}
	return "⏳ Continuing …"
}
