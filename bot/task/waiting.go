package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/pending"
	"matrix-tui/state"
)

// due returns when a waiting task first needs attention: after half of its time for the
// reminder, or at the deadline if reminders are off.
func (q Question) due() time.Time {
	if env := q.t.env; env.NotifyQuestion {
		return q.t.exec.Deadline.Add(-env.rules().QuestionTimeout / 2)
	}
	return q.t.exec.Deadline
}

// schedule makes the bot call [Env.Look] at a time.
func (q Question) schedule(due time.Time) {
	rec := &q.t.rec
	q.t.env.Waits.Set(rec.Key, pending.Wait{Room: q.t.env.ID, Asker: rec.Asker(), Thread: rec.Thread, Due: due,
		Pinned: q.t.exec.QuestionEvent != ""})
}

// Restore makes a task wait again after a restart.
func (e *Env) Restore(ctx context.Context, rec state.Task) error {
	t := e.Task(rec)
	q := t.Question()
	q.schedule(q.due())
	if e.Unasked(rec) { // AskAgain follows once the bot is in the room
		q.schedule(e.Clock.Now())
		return nil
	}
	if t.exec.QuestionEvent == "" { // it may have been sent
		if _, err := e.Look(ctx, rec.Key); err != nil {
			return err
		}
	}
	return nil
}

// Look does what is due for one waiting task: it records the event of the question,
// sends the reminder or ends the task. It reports whether the task has ended; the caller
// then wakes the worker.
func (e *Env) Look(ctx context.Context, key string) (ended bool, err error) {
	e.Decisions.Lock()
	defer e.Decisions.Unlock()
	rec, err := e.Journal.Tasks.Get(ctx, key)
	if errors.Is(err, state.ErrNotFound) || err == nil && rec.State != state.TaskWaiting {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read task: %w", err)
	}
	t := e.Task(rec)
	q, now := t.Question(), e.Clock.Now()
	if t.exec.QuestionEvent == "" {
		sent, err := e.Journal.Messages.Get(ctx, q.Txn())
		if err != nil && !errors.Is(err, state.ErrNotFound) {
			return false, fmt.Errorf("look up question: %w", err)
		}
		if err == nil && sent.Status != state.Refused {
			return false, q.posted(ctx, sent.Event, now) // the time limit starts when people can see it
		}
	}
	deadline := t.exec.Deadline
	switch {
	case !now.Before(deadline):
		closed := q.closed("⌛ No answer in time", "")
		if err := t.exec.Expire(e.rules().QuestionTimeout, time.Now()); err != nil {
			return false, err
		}
		err := q.end(ctx, agent.TimedOut, closed)
		return err == nil, err
	case now.Before(q.due()):
		q.schedule(q.due())
		return false, nil
	}
	q.schedule(deadline)
	return false, q.remind(ctx)
}

// posted records the event of the question and starts its time limit. The caller holds
// Env.Decisions.
func (q Question) posted(ctx context.Context, event string, now time.Time) error {
	t := q.t
	t.exec.Deadline = t.env.Clock.In(t.env.rules().QuestionTimeout).UTC()
	if event == "" {
		q.schedule(q.due())
		return nil // not sent yet: Look checks again
	}
	if err := t.exec.Posted(event, now); err != nil {
		return err
	}
	q.schedule(q.due())
	if err := t.env.Journal.Tasks.Wait(ctx, t.Row(), nil); err != nil {
		return fmt.Errorf("store the event of a question: %w", err)
	}
	return nil
}

// Until says until when the question waits, in the room's time zone.
func (q Question) Until() string {
	now := q.t.env.Clock.Now().In(q.t.env.rules().Zone)
	return clockText(q.t.exec.Deadline.Truncate(time.Minute), now) + now.Format(" MST")
}

// remind queues the reminder; its transaction ID makes a second one impossible.
func (q Question) remind(ctx context.Context) error {
	t, txn := q.t, q.Txn()
	asked, err := t.env.Shown(ctx, txn)
	if err != nil && !errors.Is(err, state.ErrNotFound) {
		return fmt.Errorf("look up question: %w", err)
	}
	how := "I will wait for an answer until "
	if p := t.env.Room.Proof(ctx); p.Code && q.Grants() {
		how = q.how(p) + " until "
	}
	m := t.Voice().reply(len(t.exec.Answers), "⏰ "+q.again()+"\n\n"+how+q.Until()+".")
	m = t.Voice().to(m, "", cmp.Or(asked.Txn, txn), "")
	m.Kind, m.Txn, m.Mention = state.KindReminder, txn+"-w", t.rec.Asker()
	return t.env.Room.Queue(ctx, m)
}

// Cancel ends a waiting task at a person's request and finishes the events in closes. The
// caller holds Env.Decisions and wakes the worker.
func (q Question) Cancel(ctx context.Context, by string, closes ...string) error {
	closed := q.closed("⏹ Cancelled by "+q.t.env.NameOf(by), "")
	if err := q.t.exec.Fail("Cancelled by "+by+".", time.Now()); err != nil {
		return err
	}
	return q.end(ctx, agent.Stopped, closed, closes...)
}

// GiveUpAsking ends a waiting task whose question after n answers nobody can see. The caller wakes the worker.
func (e *Env) GiveUpAsking(ctx context.Context, key string, n int) error {
	e.Decisions.Lock()
	defer e.Decisions.Unlock()
	rec, err := e.Journal.Tasks.Get(ctx, key)
	if errors.Is(err, state.ErrNotFound) || err == nil && (rec.State != state.TaskWaiting || len(rec.Answers) != n) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read task: %w", err)
	}
	t := e.Task(rec)
	if err := t.exec.Fail("I cannot show my question.", time.Now()); err != nil {
		return err
	}
	return t.Question().end(ctx, agent.Crashed, nil)
}

// end stores the end of a waiting task whose execution has just failed, and the messages that close its question.
func (q Question) end(ctx context.Context, how agent.Ended, closed []Message, closes ...string) error {
	e := ending{t: q.t, out: agent.Outcome{Ended: how, Detail: q.t.exec.ErrorMessage}}
	rows := q.t.env.Room.Render(ctx, append(closed, e.messages(false, nil)...)...)
	if err := e.store(ctx, rows, closes...); err != nil {
		return err
	}
	q.t.env.Waits.Drop(q.t.rec.Key)
	return nil
}

// GiveUpWaiting ends the waiting tasks from before seq in a room that the bot has left.
func (e *Env) GiveUpWaiting(ctx context.Context, seq int64) error {
	e.Decisions.Lock()
	defer e.Decisions.Unlock()
	tasks, err := e.Journal.Tasks.WaitingIn(ctx, e.ID)
	if err != nil {
		return fmt.Errorf("read waiting tasks: %w", err)
	}
	for _, rec := range tasks {
		if rec.Seq > seq {
			continue
		}
		if err := giveUp(ctx, e.Task(rec), "The bot left the room while the task was waiting for an answer."); err != nil {
			return err
		}
		e.Waits.Drop(rec.Key)
	}
	return nil
}

// Unasked reports whether the question of a waiting task is still in the room before an
// upgrade.
func (e *Env) Unasked(rec state.Task) bool { return rec.QuestionRoom != rec.Room }

// AskAgain repeats the questions from the predecessor of an upgraded room, where nobody
// can answer any more.
func (e *Env) AskAgain(ctx context.Context) error {
	e.Decisions.Lock()
	defer e.Decisions.Unlock()
	tasks, err := e.Journal.Tasks.WaitingIn(ctx, e.ID)
	if err != nil {
		return fmt.Errorf("read waiting tasks: %w", err)
	}
	for _, rec := range tasks {
		if !e.Unasked(rec) {
			continue
		}
		t := e.Task(rec)
		t.exec.Room, t.exec.QuestionEvent = e.ID, ""
		t.exec.Deadline = e.Clock.In(e.rules().QuestionTimeout).UTC()
		q := t.Question()
		if err := e.Journal.Tasks.Wait(ctx, t.Row(), e.Room.Render(ctx, q.messages(ctx)...)); err != nil {
			return fmt.Errorf("ask again: %w", err)
		}
		q.schedule(q.due())
	}
	return nil
}
