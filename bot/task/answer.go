package task

import (
	"context"
	"fmt"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/crash"
	"matrix-tui/bot/text"
	"matrix-tui/state"
)

// Resume binds an answer and has the task go on, in one transaction; closes are
// the rows that it ends, and busy reports whether the worker has another task. The
// caller wakes the worker. It is a *agent.TransitionError when the task does not
// wait, and agent.ErrLimit for an answer that is none.
func (e *Env) Resume(ctx context.Context, key string, given agent.Answer, busy func(key string) bool, closes ...string) (*Task, error) {
	e.Decisions.Lock()
	defer e.Decisions.Unlock()
	rec, err := e.Journal.Task(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("read task: %w", err)
	}
	t := e.Task(rec)
	if rec.State != state.TaskWaiting { // its execution may lag behind for a moment
		return t, &agent.TransitionError{ID: t.exec.ID, From: t.exec.State, To: agent.Running}
	}
	if err := t.exec.Resume(given, time.Now()); err != nil {
		return t, err
	}
	t.plan(agent.NeedsInput)
	going := t.Voice().notice(continuing(t.Given(), busy(key)))
	if err := e.Journal.Resume(ctx, t.Row(), e.Room.Render(ctx, going), closes...); err != nil {
		return t, fmt.Errorf("bind answer: %w", err)
	}
	crash.At("bound")
	e.Waits.Drop(key)
	e.Count.Answered()
	e.Room.Wake()
	e.Log.Info().Str("room", e.ID).Str("execution", t.exec.ID).Msg("question answered")
	return t, nil
}

// NoteAnswer puts the newest answer into the transcript and into state.json.
func (t *Task) NoteAnswer(ctx context.Context) {
	transcriptOf(t).once(state.KindUser, answerEvent(t.rec.Key, len(t.exec.Answers)-1, t.Given()), t.Given().Answer)
	t.env.ProjectSoon(ctx, t.rec.Key)
}

// answerEvent names an answer: its message, or what after for it.
func answerEvent(key string, n int, a agent.Answer) string {
	if a.Event != "" {
		return a.Event
	}
	return fmt.Sprintf("%s-a%d", key, n)
}

// Given is the newest answer, empty when there is none.
func (t *Task) Given() agent.Answer {
	if n := len(t.exec.Answers); n > 0 {
		return t.exec.Answers[n-1]
	}
	return agent.Answer{}
}

// Continued reports whether a run was started, or a command, after the newest answer.
func (t *Task) Continued() bool { return t.rec.Container != "" || t.rec.Approved != nil }

// Amend changes the newest answer of a task that has not gone on with it, and
// that came as the event edited. It is agent.ErrLimit for an answer that is none.
// The caller holds the books.
func (t *Task) Amend(ctx context.Context, edited, text string) error {
	if _, err := t.exec.Amend(edited, text, time.Now()); err != nil {
		return err
	}
	if err := t.env.Note(ctx, t.Row()); err != nil {
		return fmt.Errorf("note the changed answer: %w", err)
	}
	t.env.ProjectSoon(ctx, t.rec.Key)
	return nil
}

// Unheard is which of the texts that were said to a task came by an event of
// sender's and was told to no run yet, -1 for none.
func Unheard(rec state.Task, event, sender string) int {
	for i := rec.Given; i < len(rec.Said); i++ {
		if rec.Said[i].Event == event && rec.Said[i].By == sender {
			return i
		}
	}
	return -1
}

// continuing is what the room is told when a task goes on with an answer.
func continuing(a agent.Answer, busy bool) string {
	note := "⏳ Continuing with the answer received over HTTP: " + text.Code(a.Answer)
	if a.By != "" {
		note = "⏳ Continuing with " + Localpart(a.By) + "'s answer"
		if a.Event == "" {
			note += ": " + text.Code(a.Answer)
		}
	}
	if busy {
		note += ", when the running task is done"
	}
	return note + " …"
}
