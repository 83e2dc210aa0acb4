package state

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// TaskState says where a task stands. The words are on disk.
//
//	queued   → running            its container is chosen, its run is about to start
//	running  → waiting → running  it asked a question, and has the answer
//	queued, running, waiting → answered   its result is queued as messages
//	any      → done               nothing is left to do
type TaskState string

const (
	TaskQueued   TaskState = "queued"
	TaskRunning  TaskState = "running"
	TaskWaiting  TaskState = "waiting"
	TaskAnswered TaskState = "answered"
	TaskDone     TaskState = "done"
)

// Source is where a task came from. The words are on disk.
type Source string

const (
	FromRoom Source = "room" // somebody wrote it
	FromHTTP Source = "http" // a program submitted it
)

// Task is one piece of work for the agent, from the message that asks for it to
// the result. The row has everything that is needed to go on with the task after
// a restart: nobody reads the event again.
type Task struct {
	Key       string // prefix of the IDs of its runs and messages
	Seq       int64  // its place in the room's queue: the Seq of its event
	Room      string // where it is worked on and answered
	Event     string // the message that asks for it
	Home      string // the room of Event; another one than Room after a room upgrade
	Thread    string // root of the thread that Event stands in, or ""
	ReplyTo   string // the event that Event replies to, or ""
	Source    Source
	Requester string    // user ID; for a task by HTTP, the bot's own
	Time      time.Time // when Event was written
	Execution string    // the ID that the HTTP API and state.json know the task by
	State     TaskState

	Text    string // what is to be done, without the commands in Details
	Edited  bool   // Text was changed by an edit before the task began
	HasFile bool   // Event carries a file

	Attempt     int       // number of the present run, 0 before the first
	Tries       int       // runs since the last answer
	Run         string    // ID of the present run in its container
	Container   string    // ID of the container of the present run, "" until it is chosen
	Session     string    // the agent's session
	Resume      bool      // the session existed before the present run
	BaseSession string    // the room's session when the task began
	Interrupted bool      // an earlier run was cut short
	Begun       time.Time // start of the first run, or of the first after the newest answer
	Deadline    time.Time // of the present run

	Question         string // that waits for an answer
	QuestionContext  string // what the agent was doing when it asked
	QuestionRoom     string // where it was asked; another one than Room until it is asked again after an upgrade
	QuestionEvent    string // its message, "" until it is sent
	QuestionDeadline time.Time
	HeldCommand      string // the command that the newest question is about, or ""
	HeldDir          string

	StopBy    string // who wants the task to end, or ""
	Withdrawn bool   // its message was redacted before it began
	Ended     string // how the last run ended, once there is a result
	Resumable bool   // Session can be continued
	Error     string // why it failed, in a sentence

	Created time.Time
	Updated time.Time // newest step of its execution
	Details
}

// Details is what a task consists of that no query asks for; one JSON column.
type Details struct {
	Commands []string `json:"commands,omitempty"` // a plan that came with a task by HTTP
	Answers  []Answer `json:"answers,omitempty"`  // to its questions, oldest first
	Said     []Said   `json:"said,omitempty"`     // what people added to it
	Told     int      `json:"told,omitempty"`     // how many of Said earlier runs were given
	Given    int      `json:"given,omitempty"`    // how many of Said the present run was given
	Files    []File   `json:"files,omitempty"`    // those that are in the container, or cannot be
	Approved *Command `json:"approved,omitempty"` // the run of the held command
	Used     Usage    `json:"used,omitzero"`

	Result     string `json:"result,omitempty"`      // what the room was told at the end
	StatusLine string `json:"status_line,omitempty"` // for status.md; empty when the agent wrote one
	StatusSize int64  `json:"status_size,omitempty"` // of status.md at the end of the run; -1 when unknown
}

// Answer is what a person said to a question.
type Answer struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
	By       string `json:"by,omitempty"`    // user ID; "" by HTTP
	Event    string `json:"event,omitempty"` // the message; "" by HTTP or reaction
}

// Said is what somebody added to a task.
type Said struct {
	By    string `json:"by"` // user ID
	Text  string `json:"text"`
	Event string `json:"event"`
	// Joined is a message that came right behind the task, by the same person: a
	// part of it.
	Joined bool      `json:"joined,omitempty"`
	At     time.Time `json:"at"`             // of the event, as its server dates it
	File   bool      `json:"file,omitempty"` // the event carries a file
	Edited bool      `json:"edited,omitempty"`
}

// File is a file that came with a task.
type File struct {
	Event   string `json:"event"`
	Path    string `json:"path,omitempty"` // in the container
	Type    string `json:"type,omitempty"`
	Name    string `json:"name,omitempty"`
	Size    int64  `json:"size,omitempty"`
	Caption string `json:"caption,omitempty"`
	Voice   bool   `json:"voice,omitempty"`
	Missing string `json:"missing,omitempty"` // why it is not in the container; then it has no path
}

// Command is the one run of an approved command. It is stored before the run is
// started: a command whose container is gone since then is not run again.
type Command struct {
	Container string `json:"container"`
	Over      bool   `json:"over,omitempty"`
	Output    string `json:"output,omitempty"`
	Result    string `json:"result,omitempty"` // how it ended, in words
}

// Usage is what a task has cost in the runs before the present one.
type Usage struct {
	Time   time.Duration `json:"time,omitempty"` // at work, not waiting for a person
	Steps  int           `json:"steps,omitempty"`
	Tokens int64         `json:"tokens,omitempty"`
}

// open is the condition of the partial index on tasks that a worker has to do; a
// query must use these very words for SQLite to use the index. The same goes for
// waitingTask and begunTask.
const (
	open        = "state IN ('queued', 'running', 'answered')"
	waitingTask = "state = 'waiting'"
	begunTask   = "state <> 'queued'"
)

// What is asked of tasks; a test makes sure that none of it scans the table.
const (
	taskColumns = "key, seq, room, event, home, thread, reply_to, source, requester, time, execution, state," +
		" text, edited, has_file, attempt, tries, run, container, session, resume, base_session, interrupted, begun, deadline," +
		" question, question_context, question_room, question_event, question_deadline, held_command, held_dir," +
		" stop_by, withdrawn, ended, resumable, error, created, updated, details"

	queryTask        = "SELECT " + taskColumns + " FROM task WHERE key = ?"
	queryTaskOf      = "SELECT " + taskColumns + " FROM task WHERE room = ? AND event = ?"
	queryExecution   = "SELECT " + taskColumns + " FROM task WHERE execution = ?"
	queryLastTask    = "SELECT " + taskColumns + " FROM task WHERE room = ? AND " + begunTask + " ORDER BY seq DESC LIMIT 1"
	queryNextTask    = "SELECT " + taskColumns + " FROM task WHERE room = ? AND " + open + " ORDER BY seq LIMIT 1"
	queryTasks       = "SELECT " + taskColumns + " FROM task WHERE room = ? AND state = ? AND " + open + " ORDER BY seq LIMIT ?"
	queryCountTasks  = "SELECT count(*) FROM task WHERE room = ? AND state = ? AND " + open
	queryTaskRooms   = "SELECT DISTINCT room FROM task WHERE " + open + " ORDER BY room"
	queryWaiting     = "SELECT " + taskColumns + " FROM task WHERE " + waitingTask + " AND (room, seq) > (?, ?) ORDER BY room, seq LIMIT ?"
	queryWaitingIn   = "SELECT " + taskColumns + " FROM task WHERE room = ? AND " + waitingTask + " AND seq > ? ORDER BY seq LIMIT ?"
	queryFinishTasks = "UPDATE task SET state = 'done' WHERE room = ? AND " + open + " AND seq < ?"
	queryTasksToMove = "SELECT " + taskColumns + " FROM task WHERE room = ? AND state <> 'done'"
)

// columns are the fields in the order of taskColumns, to be read from a row and
// to be written to one.
func (t *Task) columns() []any {
	return []any{
		&t.Key, &t.Seq, &t.Room, &t.Event, &t.Home, &t.Thread, &t.ReplyTo, &t.Source, &t.Requester, nanos{&t.Time}, &t.Execution, &t.State,
		&t.Text, &t.Edited, &t.HasFile, &t.Attempt, &t.Tries, &t.Run, &t.Container, &t.Session, &t.Resume, &t.BaseSession, &t.Interrupted, nanos{&t.Begun}, nanos{&t.Deadline},
		&t.Question, &t.QuestionContext, &t.QuestionRoom, &t.QuestionEvent, nanos{&t.QuestionDeadline}, &t.HeldCommand, &t.HeldDir,
		&t.StopBy, &t.Withdrawn, &t.Ended, &t.Resumable, &t.Error, nanos{&t.Created}, nanos{&t.Updated}, details{&t.Details},
	}
}

func scanTask(row scanner) (Task, error) {
	var t Task
	err := row.Scan(t.columns()...)
	if errors.Is(err, sql.ErrNoRows) {
		return Task{}, ErrNotFound
	}
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

// details is Details as JSON.
type details struct{ d *Details }

func (d details) Value() (driver.Value, error) { return string(encodeJSON(d.d)), nil }

func (d details) Scan(value any) error {
	text, ok := value.(string)
	if !ok {
		return fmt.Errorf("read details of task: %T", value)
	}
	if err := json.Unmarshal([]byte(text), d.d); err != nil {
		return fmt.Errorf("read details of task: %w", err)
	}
	return nil
}

// Task gives one task, or ErrNotFound.
func (j *Journal) Task(ctx context.Context, key string) (Task, error) {
	return j.oneTask(ctx, queryTask, key)
}

// TaskOf is the task that an event of the room asked for, or ErrNotFound.
func (j *Journal) TaskOf(ctx context.Context, room, event string) (Task, error) {
	return j.oneTask(ctx, queryTaskOf, room, event)
}

// TaskByExecution is the task with that execution ID, or ErrNotFound.
func (j *Journal) TaskByExecution(ctx context.Context, id string) (Task, error) {
	return j.oneTask(ctx, queryExecution, id)
}

// LastTask is the room's newest task that has begun, or ErrNotFound.
func (j *Journal) LastTask(ctx context.Context, room string) (Task, error) {
	return j.oneTask(ctx, queryLastTask, room)
}

// NextTask is what the room's worker has to do first: the oldest task that is
// queued, running or answered. ErrNotFound when there is none.
func (j *Journal) NextTask(ctx context.Context, room string) (Task, error) {
	return j.oneTask(ctx, queryNextTask, room)
}

// Tasks gives the room's tasks in a state of those that NextTask looks at, in
// order, at most MaxBatch of them.
func (j *Journal) Tasks(ctx context.Context, room string, state TaskState) ([]Task, error) {
	tasks, err := queryAll(ctx, j.db, scanTask, queryTasks, room, state, MaxBatch)
	return tasks, j.failed("look up tasks", err)
}

// CountTasks is how many tasks Tasks would find without its limit.
func (j *Journal) CountTasks(ctx context.Context, room string, state TaskState) (n int, err error) {
	err = j.db.QueryRowContext(ctx, queryCountTasks, room, state).Scan(&n)
	return n, j.failed("count tasks", err)
}

// Waiting gives all tasks that wait for an answer, in order of arrival. It reads
// them a page at a time: others write in between.
func (j *Journal) Waiting(ctx context.Context) ([]Task, error) {
	all, err := j.pages(func(last Task) ([]Task, error) {
		return queryAll(ctx, j.db, scanTask, queryWaiting, last.Room, last.Seq, MaxBatch)
	})
	sortBySeq(all)
	return all, err
}

// WaitingIn gives those of one room.
func (j *Journal) WaitingIn(ctx context.Context, room string) ([]Task, error) {
	return j.pages(func(last Task) ([]Task, error) {
		return queryAll(ctx, j.db, scanTask, queryWaitingIn, room, last.Seq, MaxBatch)
	})
}

// pages asks for the tasks behind the last one until a page is not full.
func (j *Journal) pages(behind func(last Task) ([]Task, error)) ([]Task, error) {
	var all []Task
	var last Task
	for {
		page, err := behind(last)
		if err != nil {
			return nil, j.failed("look up waiting tasks", err)
		}
		if all = append(all, page...); len(page) < MaxBatch {
			return all, nil
		}
		last = page[len(page)-1]
	}
}

func (j *Journal) oneTask(ctx context.Context, query string, args ...any) (Task, error) {
	t, err := scanTask(j.db.QueryRowContext(ctx, query, args...))
	return t, j.failed("look up task", err)
}
