package task

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"matrix-tui/agent"
	"matrix-tui/state"
)

// executionSpace is the name space of the IDs of executions (RFC 9562, 5.5).
var executionSpace = uuid.MustParse("6f0b9f0e-6a0c-5d8f-9d53-3a5f5a4d2c11")

// ExecutionID names the execution of an event: the same in each life.
func ExecutionID(room, event string) string {
	return uuid.NewSHA1(executionSpace, []byte(room+"\x00"+event)).String()
}

// New completes a task that an event, or what after for one, asks for.
func New(rec state.Task, row state.Event) (state.Task, error) {
	rec.Key, rec.Room, rec.Event, rec.Requester, rec.Time = KeyOf(row.Room, row.ID), row.Room, row.ID, row.Sender, row.Time
	rec.State = state.TaskQueued
	e, err := agent.NewExecution(agent.ExecutionSpec{ID: rec.Execution, Transcript: inputOf(rec), Commands: rec.Commands}, time.Now())
	if err != nil {
		return rec, err
	}
	rec.Created, rec.Updated = e.CreatedAt, e.UpdatedAt
	return rec, nil
}

// Task is a stored task, with its execution. It belongs to one goroutine. What it
// says is made by its [Voice] and its [Question].
type Task struct {
	env  *Env
	rec  state.Task       // as it is to be stored, with what Row adds
	exec *agent.Execution // its state machine
	text string           // as the agent reads it
}

// Task is a stored task.
func (e *Env) Task(rec state.Task) *Task {
	return &Task{env: e, rec: rec, text: fullText(rec), exec: executionOf(rec)}
}

// Key names the task.
func (t *Task) Key() string { return t.rec.Key }

// Execution is the task as state.json and the HTTP API show it.
func (t *Task) Execution() *agent.Execution { return t.exec }

// Question is what the task asks.
func (t *Task) Question() Question { return Question{t} }

// Voice is what the task says.
func (t *Task) Voice() Voice { return Voice{t} }

// taskToDo is the task as the agent reads it. Source: seed 000, "Plan to execute".
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

// Row is the task as it is to be stored, with what its execution has become.
func (t *Task) Row() state.Task {
	rec, e := t.rec, t.exec
	rec.Question, rec.QuestionContext, rec.QuestionRoom = e.CurrentQuestion, e.QuestionContext, ""
	rec.QuestionEvent, rec.QuestionDeadline, rec.Error, rec.Updated = e.QuestionEvent, e.Deadline, e.ErrorMessage, e.UpdatedAt
	if e.State == agent.WaitingForInput {
		rec.QuestionRoom = e.Room
	}
	rec.Answers = nil
	for _, a := range e.Answers {
		rec.Answers = append(rec.Answers, state.Answer(a))
	}
	return rec
}

// AskerOf is the user ID of who gave a task; "" when a program did.
func AskerOf(rec state.Task) string {
	if rec.Source == state.FromHTTP {
		return ""
	}
	return rec.Requester
}

// Moved reports whether the task was asked for in a room before this one.
func (t *Task) Moved() bool { return t.rec.Home != t.rec.Room }

// plan makes the record of the next attempt from the end of the last one.
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
	case agent.Interrupted:
		t.rec.Interrupted, t.rec.Resume = true, true
	case agent.NeedsInput: // and there is an answer
		t.rec.Tries, t.rec.Begun, t.rec.Interrupted = 1, time.Time{}, false // it begins when the worker is free
		if t.rec.Resume = t.rec.Resumable; !t.rec.Resume {
			t.rec.Session = uuid.NewString()
		}
	default:
		t.rec.Begun = now
		t.rec.Session, t.rec.Resume = t.env.Store.Session(t.env.ID), true
		t.rec.BaseSession = t.rec.Session
		if t.rec.Session == "" {
			t.rec.Session, t.rec.Resume = uuid.NewString(), false
		}
	}
}

// Hash is a short name for a longer one.
func Hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:10])
}

// KeyOf names what belongs to a row: its runs and its messages. The same
// row has the same key in each life of the bot.
func KeyOf(room, event string) string { return Hash(room + "\x00" + event) }
