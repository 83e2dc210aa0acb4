package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/text"
	"matrix-tui/state"
)

// due is when a waiting task is to be looked at first: when half of its time is
// over, for the reminder, or at the deadline when nobody wants one.
func (t *Task) due() time.Time {
	if t.env.NotifyQuestion {
		return t.exec.Deadline.Add(-t.patience() / 2)
	}
	return t.exec.Deadline
}

// waitUntil has the task looked at at a time.
func (t *Task) waitUntil(due time.Time) {
	t.env.Waits.Set(t.rec.Key, Wait{t.env.ID, t.Asker(), t.rec.Thread, due, t.exec.QuestionEvent != ""})
}

// TakeUp has a task wait again that waited in a former life. It tells whether
// state.json is to be written.
func (e *Env) TakeUp(ctx context.Context, rec state.Task) (save bool, err error) {
	t := e.Task(rec)
	t.waitUntil(t.due())
	switch {
	case t.exec.Room != rec.Room: // the room has moved, and its questions have not
		return false, e.AskAgain(ctx)
	case t.exec.QuestionEvent == "": // sent, perhaps, but not pinned
		_, err := e.Look(ctx, rec.Key)
		return false, err
	}
	return t.differs(), nil
}

// Look does what is due for one waiting task: its question is pinned, reminded
// of, or given up. It tells whether the task has ended: the caller then wakes the
// worker.
func (e *Env) Look(ctx context.Context, key string) (ended bool, err error) {
	e.Books.Lock()
	defer e.Books.Unlock()
	rec, err := e.Journal.Task(ctx, key)
	if errors.Is(err, state.ErrNotFound) || err == nil && rec.State != state.TaskWaiting {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read task: %w", err)
	}
	t := e.Task(rec)
	now := time.Now()
	if t.exec.QuestionEvent == "" {
		sent, err := e.Journal.Message(ctx, t.QuestionTxn())
		if err != nil && !errors.Is(err, state.ErrNotFound) {
			return false, fmt.Errorf("look up question: %w", err)
		}
		if err == nil && sent.Status != state.Refused {
			return false, t.posted(ctx, sent.Event, now) // its time begins when people can see it
		}
	}
	deadline := t.exec.Deadline
	switch {
	case !now.Before(deadline):
		if err := t.exec.Expire(t.patience(), time.Now()); err != nil {
			return false, err
		}
		err := t.expire(ctx, agent.TimedOut)
		return err == nil, err
	case now.Before(t.due()):
		t.waitUntil(t.due())
		return false, nil
	}
	t.waitUntil(deadline)
	return false, t.remind(ctx, now)
}

// posted pins the question to its event and has its time begin. The caller
// holds the books.
func (t *Task) posted(ctx context.Context, event string, now time.Time) error {
	t.exec.Deadline = now.Add(t.patience()).UTC()
	if event == "" {
		t.waitUntil(t.due())
		return nil // not yet: the next look will tell
	}
	if err := t.exec.Posted(event, now); err != nil {
		return err
	}
	t.waitUntil(t.due())
	if err := t.env.Journal.Wait(ctx, t.Row(), nil); err != nil {
		return fmt.Errorf("pin question: %w", err)
	}
	t.ProjectSoon(ctx)
	return nil
}

// remind queues the reminder of the present question, once.
func (t *Task) remind(ctx context.Context, now time.Time) error {
	n := len(t.exec.Answers)
	txn := t.question(n)
	m := t.message(n, fmt.Sprintf("⏰ I am still waiting for your input: %s\n\nI will give up in %s.", t.link(ctx, txn), text.Duration(t.exec.Deadline.Sub(now))))
	m.Kind, m.Txn, m.About, m.Mention = state.KindReminder, txn+"-w", state.AboutRef(txn), t.Asker()
	return t.env.Room.Queue(ctx, m)
}

// Refuse ends a task that waits, by order of a person; closes are rows that this
// ends too. The caller holds the books, and wakes the worker.
func (t *Task) Refuse(ctx context.Context, by string, closes ...string) error {
	if err := t.exec.Fail("Given up by "+by+".", time.Now()); err != nil {
		return err
	}
	return t.expire(ctx, agent.Stopped, closes...)
}

// expire stores the end of a task that waits, and whose execution has failed.
func (t *Task) expire(ctx context.Context, how agent.Ended, closes ...string) error {
	out := agent.Outcome{Ended: how, Detail: t.exec.ErrorMessage}
	rows := t.env.Room.Render(ctx, t.result(ctx, out)...)
	if err := t.store(ctx, out, rows, closes...); err != nil {
		return err
	}
	t.env.Waits.Drop(t.rec.Key)
	return nil
}

// GiveUpWaiting ends the tasks that wait in a room that is gone.
func (e *Env) GiveUpWaiting(ctx context.Context) error {
	e.Books.Lock()
	defer e.Books.Unlock()
	tasks, err := e.Journal.WaitingIn(ctx, e.ID)
	if err != nil {
		return fmt.Errorf("read waiting tasks: %w", err)
	}
	for _, rec := range tasks {
		if err := e.Task(rec).giveUp(ctx, "The room was left while the task waited for an answer."); err != nil {
			return err
		}
		e.Waits.Drop(rec.Key)
	}
	return nil
}

// AskAgain asks the questions that have moved here with their room: nobody can
// answer in the old one.
func (e *Env) AskAgain(ctx context.Context) error {
	e.Books.Lock()
	defer e.Books.Unlock()
	tasks, err := e.Journal.WaitingIn(ctx, e.ID)
	if err != nil {
		return fmt.Errorf("read waiting tasks: %w", err)
	}
	for _, rec := range tasks {
		t := e.Task(rec)
		if t.exec.Room == e.ID {
			continue
		}
		t.exec.Room, t.exec.QuestionEvent = e.ID, ""
		t.exec.Deadline = time.Now().Add(t.patience()).UTC()
		if err := e.Journal.Wait(ctx, t.Row(), e.Room.Render(ctx, t.asking(ctx, "", "")...)); err != nil {
			return fmt.Errorf("ask again: %w", err)
		}
		t.waitUntil(t.due())
		t.ProjectSoon(ctx)
	}
	return nil
}

// differs tells whether state.json has the execution otherwise.
func (t *Task) differs() bool {
	_, stored, ok := t.env.Store.Execution(t.exec.ID)
	data, err := json.Marshal(t.exec)
	return !ok || err != nil || string(stored) != string(data)
}
