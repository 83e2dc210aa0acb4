package bot

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"matrix-tui/agent"
	"matrix-tui/state"
)

// used is what a task has cost.
type used state.Usage

// with adds a run that ends now and was begun at a time.
func (u used) with(begun time.Time, out agent.Outcome) used {
	u.Time += time.Since(begun)
	u.Tokens += out.Usage.Total
	for _, n := range out.Tools {
		u.Steps += n
	}
	return u
}

// executionSpace is the name space of the IDs of executions (RFC 9562, 5.5).
var executionSpace = uuid.MustParse("6f0b9f0e-6a0c-5d8f-9d53-3a5f5a4d2c11")

// executionID names the execution of an event: the same in each life.
func executionID(room, event string) string {
	return uuid.NewSHA1(executionSpace, []byte(room+"\x00"+event)).String()
}

// taskFrom is the task that a message asks for. It is agent.ErrLimit for one that
// is too large.
func taskFrom(row state.Inbound) (state.Task, error) {
	e, _ := parseEvent(row.Raw)
	m, _ := e.message()
	rec := state.Task{
		Source: state.FromRoom, Home: homeOf(row), Thread: threadOf(row), ReplyTo: repliesTo(row),
		Execution: executionID(row.Room, row.Event), Text: taskWords(taskText(m)),
	}
	if f, ok := fileOf(row); ok {
		rec.Text, rec.HasFile = fileTask(f, rec.Text), true
	}
	return born(rec, row)
}

// born completes a task that an event, or what stands for one, asks for.
func born(rec state.Task, row state.Inbound) (state.Task, error) {
	rec.Key, rec.Room, rec.Event, rec.Requester, rec.Time = taskKey(row), row.Room, row.Event, row.Sender, row.Time
	rec.State = state.TaskQueued
	e, err := agent.NewExecution(agent.ExecutionSpec{ID: rec.Execution, Transcript: transcript(rec), Commands: rec.Commands}, time.Now())
	if err != nil {
		return rec, err
	}
	rec.Created, rec.Updated = e.CreatedAt, e.UpdatedAt
	return rec, nil
}

// newTask is a stored task.
func newTask(r *room, rec state.Task) *task {
	return &task{room: r, taken: rec, rec: rec, text: taskToDo(rec), exec: executionOf(rec)}
}

// taskToDo is the task as the agent reads it. Source: seed 000, "Plan to execute".
func taskToDo(rec state.Task) string {
	parts := transcript(rec)
	if len(rec.Commands) > 0 {
		parts = append(parts, "Plan to execute:\n"+strings.Join(rec.Commands, "\n"))
	}
	return strings.Join(parts, "\n\n")
}

func transcript(rec state.Task) []string {
	if rec.Text == "" {
		return []string{}
	}
	return []string{rec.Text}
}

// executionOf is a task as state.json and the HTTP API show it.
func executionOf(rec state.Task) *agent.Execution {
	e := &agent.Execution{
		ID: rec.Execution, State: executionState(rec), Transcript: transcript(rec), Commands: append([]string{}, rec.Commands...),
		Results: []agent.Result{}, CurrentQuestion: rec.Question, QuestionContext: rec.QuestionContext,
		Answers: []agent.Answer{}, Topics: []string{}, ErrorMessage: rec.Error,
		Room: rec.Room, QuestionEvent: rec.QuestionEvent, Deadline: rec.QuestionDeadline,
		CreatedAt: rec.Created, UpdatedAt: rec.Updated,
	}
	if rec.Source != state.FromHTTP {
		e.TaskEvent, e.Asker = rec.Event, rec.Requester
	}
	if e.State == agent.WaitingForInput { // after a room upgrade, until it is asked again: see askAgain
		e.Room = rec.QuestionRoom
	}
	if e.State == agent.Done {
		e.Results = append(e.Results, agent.Result{Output: rec.Result})
	}
	for _, a := range rec.Answers {
		e.Answers = append(e.Answers, agent.Answer(a))
	}
	return e
}

func executionState(rec state.Task) agent.State {
	switch rec.State {
	case state.TaskQueued:
		return agent.Pending
	case state.TaskRunning:
		return agent.Running
	case state.TaskWaiting:
		return agent.WaitingForInput
	}
	if rec.Ended == string(agent.Completed) {
		return agent.Done
	}
	return agent.Failed
}

// row is the task as it is to be stored, with what its execution has become.
func (t *task) row() state.Task {
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

// taskWords is a text without the command that only says that it is a task.
func taskWords(text string) string {
	if c, rest, ok := parseCommand(text); ok && c.run == nil {
		return rest
	}
	return text
}

// asker is the user ID of who gave the task; "" when a program did.
func (t *task) asker() string { return asker(&t.taken) }

func askerOf(rec state.Task) string { return asker(&rec) }

func asker(rec *state.Task) string {
	if rec.Source == state.FromHTTP {
		return ""
	}
	return rec.Requester
}

// anchor is the event that the task's messages reply to: the task itself, or
// the notice of one that came by HTTP.
func (t *task) anchor() string {
	if t.rec.Source == state.FromHTTP {
		return state.AboutRef(t.rec.Key + "-t")
	}
	return t.rec.Event
}
