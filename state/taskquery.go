package state

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"time"
)

// open is the condition of the partial index on tasks that a worker must process; a query must use exactly these words
// for SQLite to use the index. The same goes for waitingTask and begunTask.
const (
	open        = "state IN ('queued', 'running', 'answered')"
	waitingTask = "state = 'waiting'"
	begunTask   = "state <> 'queued'"
)

// The queries on tasks; a test makes sure that none of them scans the table.
const (
	taskColumns = "key, seq, room, event, home, thread, reply_to, source, requester, time, execution, state," +
		" text, edited, has_file, attempt, tries, run, container, session, resume, base_session, interrupted, begun, " +
		"deadline," +
		" question, question_context, question_room, question_event, question_deadline, held_command, held_dir," +
		" stop_by, withdrawn, ended, resumable, error, created, updated, details"

	queryTask      = "SELECT " + taskColumns + " FROM task WHERE key = ?"
	queryTaskOf    = "SELECT " + taskColumns + " FROM task WHERE room = ? AND event = ?"
	queryInThread  = "SELECT key FROM task WHERE room = ? AND thread = ? AND thread <> '' LIMIT 1"
	queryExecution = "SELECT " + taskColumns + " FROM task WHERE execution = ?"
	queryLastTask  = "SELECT " + taskColumns + " FROM task WHERE room = ? AND " + begunTask +
		" ORDER BY seq DESC LIMIT ?"
	queryLastActive = "SELECT ifnull(max(updated), 0) FROM task WHERE room = ? AND " + begunTask
	// queryOnceActive: see moveActive.
	queryOnceActive = "SELECT ifnull(max(CAST(value AS INTEGER)), 0) FROM meta WHERE key = 'active ' || ?"
	queryNextTask   = "SELECT " + taskColumns + " FROM task WHERE room = ? AND " + open + " ORDER BY seq LIMIT 1"
	queryTasks      = "SELECT " + taskColumns + " FROM task WHERE room = ? AND state = ? AND " + open +
		" ORDER BY seq LIMIT ?"
	queryCountTasks = "SELECT count(*) FROM task WHERE room = ? AND state = ? AND " + open +
		" AND (state <> 'queued' OR stop_by = '')"
	queryTaskRooms   = "SELECT DISTINCT room FROM task WHERE " + open + " ORDER BY room"
	queryWaiting     = "SELECT " + taskColumns + " FROM task WHERE " + waitingTask + " ORDER BY room, seq"
	queryWaitingIn   = "SELECT " + taskColumns + " FROM task WHERE room = ? AND " + waitingTask + " ORDER BY seq"
	queryFinishTasks = "UPDATE task SET state = 'done', error = CASE WHEN ended <> '' THEN error" +
		" WHEN state = 'running' THEN '" + LeftWhileRunning + "'" +
		" ELSE 'The bot left the room.' END" +
		" WHERE room = ? AND " + open + " AND seq < ?"
	queryTasksToMove = "SELECT " + taskColumns + " FROM task WHERE room = ? AND state <> 'done'"
)

// columns returns pointers to the fields in the order of taskColumns, for reading a row and for writing one.
func (t *Task) columns() []any {
	return []any{
		&t.Key, &t.Seq, &t.Room, &t.Event, &t.Home, &t.Thread, &t.ReplyTo, &t.Source, &t.Requester, nanos{&t.Time},
		&t.Execution, &t.State,
		&t.Text, &t.Edited, &t.HasFile, &t.Attempt, &t.Tries, &t.Run, &t.Container, &t.Session, &t.Resume, &t.BaseSession,
		&t.Interrupted, nanos{&t.Begun}, nanos{&t.Deadline},
		&t.Question, &t.QuestionContext, &t.QuestionRoom, &t.QuestionEvent, nanos{&t.QuestionDeadline}, &t.HeldCommand,
		&t.HeldDir,
		&t.StopBy, &t.Withdrawn, &t.Ended, &t.Resumable, &t.Error, nanos{&t.Created}, nanos{&t.Updated}, asJSON{&t.Details},
	}
}

func scanTask(row scanner) (t Task, err error) {
	err = row.Scan(t.columns()...)
	return t, err
}

// nanos is a time as nanoseconds since 1970, 0 for the zero time.
type nanos struct{ t *time.Time }

func (n nanos) Value() (driver.Value, error) {
	if n.t.IsZero() {
		return int64(0), nil
	}
	return n.t.UnixNano(), nil
}

func (n nanos) Scan(value any) error {
	ns, ok := value.(int64)
	if !ok {
		return fmt.Errorf("read time: %T", value)
	}
	if *n.t = (time.Time{}); ns != 0 {
		*n.t = time.Unix(0, ns).UTC()
	}
	return nil
}

// Get returns one task, or ErrNotFound.
func (j *Tasks) Get(ctx context.Context, key string) (Task, error) {
	return j.oneTask(ctx, queryTask, key)
}

// Of returns the task that an event of the room requested, or ErrNotFound.
func (j *Tasks) Of(ctx context.Context, room, event string) (Task, error) {
	return j.oneTask(ctx, queryTaskOf, room, event)
}

// InThread reports whether an event of the room that is the root of a thread, or in it, requested a task.
func (j *Tasks) InThread(ctx context.Context, room, root string) (bool, error) {
	if _, err := j.Of(ctx, room, root); !errors.Is(err, ErrNotFound) {
		return err == nil, err
	}
	key, err := value[string](ctx, j.core, "look up tasks in a thread", queryInThread, room, root)
	return key != "", err
}

// ByExecution returns the task with that execution ID, or ErrNotFound.
func (j *Tasks) ByExecution(ctx context.Context, id string) (Task, error) {
	return j.oneTask(ctx, queryExecution, id)
}

// Last returns the room's newest task that has started, or ErrNotFound.
func (j *Tasks) Last(ctx context.Context, room string) (Task, error) {
	return j.oneTask(ctx, queryLastTask, room, 1)
}

// Newest returns the newest n tasks of the room that have started, newest first.
func (j *Tasks) Newest(ctx context.Context, room string, n int) ([]Task, error) {
	return list(ctx, j.core, "read last tasks", scanTask, queryLastTask, room, n)
}

// LastActive returns when a task of the room or of its predecessors was last changed after its start, or the zero time
// if none has started.
func (j *Tasks) LastActive(ctx context.Context, room string) (at time.Time, err error) {
	ns, err := lastActive(ctx, j.db, room)
	if ns != 0 {
		at = time.Unix(0, ns).UTC()
	}
	return at, j.failed("look up newest task", err)
}

// lastActive is LastActive as nanoseconds since 1970.
func lastActive(ctx context.Context, db queryer, room string) (ns int64, err error) {
	now, err := queryValue[int64](ctx, db, queryLastActive, room)
	once, failed := queryValue[int64](ctx, db, queryOnceActive, room)
	return max(now, once), errors.Join(err, failed)
}

// Next returns the next task for the room's worker: the oldest one that is queued, running or answered; ErrNotFound
// if there is none.
func (j *Tasks) Next(ctx context.Context, room string) (Task, error) {
	return j.oneTask(ctx, queryNextTask, room)
}

// In returns the room's tasks in one of the states of Next, in order, at most MaxBatch of them.
func (j *Tasks) In(ctx context.Context, room string, state TaskState) ([]Task, error) {
	return list(ctx, j.core, "look up tasks", scanTask, queryTasks, room, state, MaxBatch)
}

// Count returns how many tasks Tasks would find without its limit and without those that were stopped in the queue.
func (j *Tasks) Count(ctx context.Context, room string, state TaskState) (int, error) {
	return value[int](ctx, j.core, "count tasks", queryCountTasks, room, state)
}

// Waiting returns all tasks that wait for an answer, in order of arrival.
func (j *Tasks) Waiting(ctx context.Context) ([]Task, error) {
	all, err := list(ctx, j.core, "look up waiting tasks", scanTask, queryWaiting)
	slices.SortFunc(all, func(a, b Task) int { return cmp.Compare(a.Seq, b.Seq) })
	return all, err
}

// WaitingIn returns those of one room.
func (j *Tasks) WaitingIn(ctx context.Context, room string) ([]Task, error) {
	return list(ctx, j.core, "look up waiting tasks", scanTask, queryWaitingIn, room)
}

func (j *Tasks) oneTask(ctx context.Context, query string, args ...any) (Task, error) {
	return one(ctx, j.core, "look up task", scanTask, query, args...)
}
