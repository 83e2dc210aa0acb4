package task

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"matrix-tui/agent"
	"matrix-tui/state"
	"matrix-tui/state/execution"
)

// executionSpace is the namespace of execution IDs (RFC 9562, section 5.5).
var executionSpace = uuid.MustParse("6f0b9f0e-6a0c-5d8f-9d53-3a5f5a4d2c11")

// ExecutionID returns the ID of an event's execution, which is always the same.
func ExecutionID(room, event string) string {
	return uuid.NewSHA1(executionSpace, []byte(room+"\x00"+event)).String()
}

// New completes the record of a task. row is its event, or a substitute for a task from HTTP.
func New(rec state.Task, row state.Event) (state.Task, error) {
	rec.Key, rec.Room, rec.Event, rec.Requester, rec.Time = state.KeyOf(row.Room, row.ID), row.Room, row.ID, row.Sender,
		row.Time
	rec.State = state.TaskQueued
	e, err := execution.New(execution.Spec{ID: rec.Execution, Transcript: inputOf(rec), Commands: rec.Commands},
		time.Now())
	if err != nil {
		return rec, err
	}
	rec.Created, rec.Updated = e.CreatedAt, e.UpdatedAt
	return rec, nil
}

// Task is a stored task with its execution. It belongs to one goroutine. [Voice] and
// [Question] create its messages.
type Task struct {
	env  *Env
	rec  state.Task           // use Row for storing it: exec has newer values
	exec *execution.Execution // state machine
	text string               // for the agent
}

// Task returns the Task of a stored record.
func (e *Env) Task(rec state.Task) *Task {
	return &Task{env: e, rec: rec, text: fullText(rec), exec: ExecutionOf(rec)}
}

// Key returns the task's key.
func (t *Task) Key() string { return t.rec.Key }

// Execution returns the task as the HTTP API shows it.
func (t *Task) Execution() *execution.Execution { return t.exec }

// Question returns the task's open or next question.
func (t *Task) Question() Question { return Question{t} }

// Voice returns the task's Voice.
func (t *Task) Voice() Voice { return Voice{t} }

// fullText returns the task's text for the agent.
func fullText(rec state.Task) string {
	parts := inputOf(rec)
	if len(rec.Commands) > 0 {
		parts = append(parts, "Plan to execute:\n"+strings.Join(rec.Commands, "\n"))
	}
	return strings.Join(parts, "\n\n")
}

func inputOf(rec state.Task) []string {
	if rec.Text == "" {
		return []string{}
	}
	return []string{rec.Text}
}

// Row returns the record to store, updated from the execution.
func (t *Task) Row() state.Task {
	rec, e := t.rec, t.exec
	rec.Question, rec.QuestionContext, rec.QuestionRoom = e.CurrentQuestion, e.QuestionContext, ""
	rec.QuestionEvent, rec.QuestionDeadline, rec.Error, rec.Updated = e.QuestionEvent, e.Deadline, e.ErrorMessage,
		e.UpdatedAt
	if e.State == execution.WaitingForInput {
		rec.QuestionRoom = e.Room
	}
	rec.Answers = nil
	for _, a := range e.Answers {
		rec.Answers = append(rec.Answers, state.Answer(a))
	}
	return rec
}

// plan prepares the record for the next attempt, depending on how the last one ended.
func (t *Task) plan(last agent.Ended) {
	now := time.Now().UTC()
	t.rec.Attempt++
	t.rec.Tries++
	t.rec.Run = fmt.Sprintf("%s-%d", t.rec.Key, t.rec.Attempt)
	t.rec.Container = ""
	t.rec.Deadline = now.Add(t.env.rules().Timeout)
	switch last {
	case agent.SessionGone:
		t.rec.Session, t.rec.Resume = uuid.NewString(), false
	case agent.Overflow:
		t.rec.Session, t.rec.Resume, t.rec.Overflow, t.rec.Compacted = uuid.NewString(), false, true, true
	case agent.HistoryRefused:
		t.rec.Session, t.rec.Resume, t.rec.Refused = uuid.NewString(), false, true
	case agent.Interrupted:
		t.rec.Interrupted, t.rec.Resume = true, true
	case agent.ModelGone:
		t.rec.Due.Begun = t.rec.Due.Begun || t.rec.Resumable
		if t.rec.Resume = t.rec.Resumable; !t.rec.Resume {
			t.rec.Session = uuid.NewString()
		}
	case agent.NeedsInput: // it was answered
		t.rec.Tries, t.rec.Begun, t.rec.Interrupted = 1, time.Time{}, false // attempt.do sets Begun again
		if t.rec.Resume = t.rec.Resumable; !t.rec.Resume {
			t.rec.Session = uuid.NewString()
		}
	default:
		t.rec.Begun = now
		// First: a reset in between is later than the mark.
		t.rec.BaseSession = t.env.Store.Conversations.SessionMark(t.env.ID)
		t.rec.Session, t.rec.Resume = t.env.Store.Conversations.Session(t.env.ID), true
		if t.rec.Session == "" {
			t.rec.Session, t.rec.Resume = cmp.Or(t.env.Warm.SessionOf(t.env.ID), uuid.NewString()), false
		}
	}
}
