package state

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Enqueue turns an event into a task: the row is stored as queued, the event becomes Done, and the messages are queued,
// in one transaction. The task takes its place in the queue, Seq, from the event. An event that is no longer Pending is
// ErrFinished, an unknown one ErrNotFound.
func (j *Tasks) Enqueue(ctx context.Context, t Task, out ...Message) error {
	return j.EnqueueEdited(ctx, t, t.Event, out...)
}

// EnqueueEdited turns an event that asked for nothing into a task, because the pending event edit has changed it; edit
// becomes Done in the same transaction. An edit that is no longer Pending is ErrFinished.
func (j *Tasks) EnqueueEdited(ctx context.Context, t Task, edit string, out ...Message) error {
	return j.change(ctx, "queue task", func(tx *sql.Tx) error {
		e, err := queryOne(ctx, tx, scanEvent, queryEvent, t.Room, edit)
		if err != nil {
			return err
		}
		if e.Status != Pending {
			return ErrFinished
		}
		t.Seq = e.Seq
		for _, event := range []string{edit, t.Event} {
			if err := setStatus(ctx, tx, t.Room, event, Done); err != nil {
				return err
			}
		}
		return insertTask(ctx, tx, t, out)
	})
}

// Submit stores a task that no event requested, with an event of its own that is Done, and queues the messages, in one
// transaction. A known task stays unchanged.
func (j *Tasks) Submit(ctx context.Context, e Event, t Task, out ...Message) error {
	return j.change(ctx, "submit task", func(tx *sql.Tx) error { return submit(ctx, tx, e, t, out) })
}

func submit(ctx context.Context, tx *sql.Tx, e Event, t Task, out []Message) error {
	e.Status = Done
	seq, fresh, err := insertEvent(ctx, tx, e, time.Now().UnixMilli())
	if err != nil || !fresh {
		return err
	}
	t.Seq = seq
	return insertTask(ctx, tx, t, out)
}

func insertTask(ctx context.Context, tx *sql.Tx, t Task, out []Message) error {
	t.State = TaskQueued
	if err := writeTask(ctx, tx, t, time.Now().UnixMilli()); err != nil {
		return err
	}
	return insertMessages(ctx, tx, out)
}

// writeTask inserts a row.
func writeTask(ctx context.Context, tx *sql.Tx, t Task, at int64) error {
	if t.Key == "" || t.Room == "" || t.Event == "" || t.Execution == "" {
		return errors.New("task without key, room, event or execution")
	}
	marks := strings.Repeat("?, ", strings.Count(taskColumns, ",")+1)
	return run(ctx, tx, "INSERT INTO task ("+taskColumns+", at) VALUES ("+marks+"?)", append(t.columns(), at)...)
}

// Claim records that a task's run is about to start: its state is running from now on. Repeated, it replaces the row. A
// task that waits for an answer or has its result is ErrFinished, an unknown one ErrNotFound.
func (j *Tasks) Claim(ctx context.Context, t Task) error {
	return j.step(ctx, "claim task", t, TaskRunning, nil, nil, TaskQueued, TaskRunning)
}

// Note replaces the row of a task that is queued or running, and queues the messages, in one transaction; its state
// stays. Any other task is ErrFinished.
func (j *Tasks) Note(ctx context.Context, t Task, out ...Message) error {
	return j.step(ctx, "note task", t, "", out, nil, TaskQueued, TaskRunning)
}

// Wait stores the question of a task, which waits from now on, in one transaction with the messages. Repeated, it
// replaces the row; messages with known transaction IDs stay unchanged. A task that has its result is ErrFinished.
func (j *Tasks) Wait(ctx context.Context, t Task, out []Message) error {
	return j.step(ctx, "store question of task", t, TaskWaiting, out, nil, TaskQueued, TaskRunning, TaskWaiting)
}

// Resume continues a task that waits: its state is running from now on, the events in closes (of the same room: the
// answer) become Done, and the messages are queued, all in one transaction. A task that does not wait is ErrFinished;
// an unknown one, or an unknown event in closes, ErrNotFound. Then nothing is changed.
func (j *Tasks) Resume(ctx context.Context, t Task, out []Message, closes ...string) error {
	return j.step(ctx, "resume task", t, TaskRunning, out, closes, TaskWaiting)
}

// Answer stores the result of a task, in one transaction with its messages. Messages with known transaction IDs stay
// unchanged, so that a repeated call sends nothing twice; for a task that is done nothing happens. The events in closes
// (of the same room: what ended the task) become Done with it; an unknown one is ErrNotFound, and then nothing is
// changed.
func (j *Tasks) Answer(ctx context.Context, t Task, out []Message, closes ...string) error {
	err := j.step(ctx, "answer task", t, TaskAnswered, out, closes, TaskQueued, TaskRunning, TaskWaiting, TaskAnswered)
	if errors.Is(err, ErrFinished) { // done
		return nil
	}
	return err
}

// Finish marks a task done. It returns ErrNotFound for an unknown one.
func (j *Tasks) Finish(ctx context.Context, key string) error {
	return j.mark(ctx, "finish task", "UPDATE task SET state = 'done' WHERE key = ?", key)
}

// GiveUp marks a task done, with the reason why it has no result, if it has none and is not done yet.
func (j *Tasks) GiveUp(ctx context.Context, key, why string) error {
	return j.mark(ctx, "give up task", `UPDATE task SET state = 'done',
		error = iif(state <> 'done' AND ended = '', ?2, error),
		updated = iif(state <> 'done' AND ended = '', ?3, updated) WHERE key = ?1`, key, why, time.Now().UnixNano())
}

// FinishUpTo marks as done the room's tasks that are queued, running or answered and come before seq.
func (j *Tasks) FinishUpTo(ctx context.Context, room string, seq int64) error {
	return j.exec(ctx, "finish tasks", queryFinishTasks, room, seq)
}

// step writes a task's row with a new state ("" keeps the current one) if its state is one of those in from; otherwise
// it returns ErrFinished. Fields fixed at creation (its room, its place in the queue) never change.
func (j *Tasks) step(ctx context.Context, what string, t Task, to TaskState, out []Message, closes []string,
	from ...TaskState) error {
	return j.change(ctx, what, func(tx *sql.Tx) error {
		now, err := queryOne(ctx, tx, scanTask, queryTask, t.Key)
		if err != nil {
			return err
		}
		if !slices.Contains(from, now.State) {
			return ErrFinished
		}
		t.Seq, t.State = now.Seq, cmp.Or(to, now.State)
		if err := updateTask(ctx, tx, t); err != nil {
			return err
		}
		if err := spend(ctx, tx, now.Room, stepCost(now, t, time.Now())); err != nil {
			return err
		}
		if to == TaskAnswered && now.State != TaskAnswered {
			if err := countRun(ctx, tx, now.Room, t); err != nil {
				return err
			}
		}
		return replyIn(ctx, tx, now.Room, out, closes)
	})
}

func updateTask(ctx context.Context, tx *sql.Tx, t Task) error {
	return run(ctx, tx, "UPDATE task SET ("+taskColumns+") = ("+
		strings.Repeat("?, ", strings.Count(taskColumns, ","))+"?) WHERE key = ?",
		append(t.columns(), t.Key)...)
}

// Reply queues messages and marks the events in closes as Done, in one transaction: the reply to a command, and the
// command. Messages with known transaction IDs stay unchanged. It returns ErrNotFound for an unknown event, and then
// changes nothing.
func (j *Messages) Reply(ctx context.Context, room string, out []Message, closes ...string) error {
	return j.change(ctx, "reply", func(tx *sql.Tx) error { return replyIn(ctx, tx, room, out, closes) })
}

// replyIn queues messages and marks events of a room as Done.
func replyIn(ctx context.Context, tx *sql.Tx, room string, out []Message, closes []string) error {
	for _, event := range closes {
		if err := setStatus(ctx, tx, room, event, Done); err != nil {
			return fmt.Errorf("close %s: %w", event, err)
		}
	}
	return insertMessages(ctx, tx, out)
}
