package task

import (
	"context"
	"encoding/json"
	"fmt"

	"matrix-tui/agent"
	"matrix-tui/bot/recall"
	"matrix-tui/state"
	"matrix-tui/state/execution"
)

// project updates the execution of a task, which the journal keeps for programs and for the memory when the task
// itself is gone. The task is authoritative.
func (e *Env) project(ctx context.Context, key string) error {
	e.projecting.Lock() // an older record must not overwrite a newer one
	defer e.projecting.Unlock()
	rec, err := e.Journal.Tasks.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("read task: %w", err)
	}
	return put(ctx, e, executionOf(rec))
}

// put stores an execution. The caller holds projecting.
func put(ctx context.Context, e *Env, execution *execution.Execution) error {
	data, err := json.Marshal(execution)
	if err != nil {
		return fmt.Errorf("marshal execution: %w", err)
	}
	if err := e.Store.Executions.Put(ctx, e.ID, data); err != nil {
		return fmt.Errorf("save execution: %w", err)
	}
	return nil
}

// ProjectSoon is project for callers that need not wait for success: an error is
// logged, and the next write or the next start repairs the execution.
func (e *Env) ProjectSoon(ctx context.Context, key string) {
	if err := e.project(ctx, key); err != nil && ctx.Err() == nil {
		e.Log.Warn().Err(err).Str("room", e.ID).Msg("cannot save the execution yet")
	}
}

// executionOf returns a task as the HTTP API shows it.
func executionOf(rec state.Task) *execution.Execution {
	e := &execution.Execution{
		ID: rec.Execution, State: executionState(rec), Transcript: inputOf(rec),
		Commands: append([]string{}, rec.Commands...),
		Results:  []execution.Result{}, CurrentQuestion: rec.Question, QuestionContext: rec.QuestionContext,
		Answers: []execution.Answer{}, Topics: []string{}, ErrorMessage: rec.Error,
		Room: rec.Room, QuestionEvent: rec.QuestionEvent, Deadline: rec.QuestionDeadline,
		CreatedAt: rec.Created, UpdatedAt: rec.Updated,
	}
	if e.State == execution.Pending || e.State == execution.Running {
		e.Due, e.DueReason = rec.Due.At, rec.Due.Why
	}
	if rec.Source != state.FromHTTP {
		e.TaskEvent, e.Asker = rec.Event, rec.Requester
	}
	if e.State == execution.WaitingForInput { // differs from rec.Room after a room upgrade, until AskAgain
		e.Room = rec.QuestionRoom
	}
	if len(e.Commands) == 0 {
		e.Commands = append(e.Commands, commandsOf(rec.Calls)...)
	}
	if e.State == execution.Done {
		e.Results = append(e.Results, execution.Result{Output: rec.Result})
		e.Topics = append(e.Topics, recall.Topics(fullText(rec))...)
	}
	for _, a := range rec.Answers {
		e.Answers = append(e.Answers, execution.Answer(a))
	}
	return e
}

// commandsOf returns the commands among the calls of tools.
func commandsOf(calls []state.Call) (commands []string) {
	for _, call := range calls {
		if call.Tool == recall.ShellTool && call.Detail != "" {
			commands = append(commands, call.Detail)
		}
	}
	return commands
}

func executionState(rec state.Task) execution.State {
	switch rec.State {
	case state.TaskQueued:
		return execution.Pending
	case state.TaskRunning:
		return execution.Running
	case state.TaskWaiting:
		return execution.WaitingForInput
	}
	if rec.Ended == string(agent.Completed) {
		return execution.Done
	}
	return execution.Failed
}

// Note stores a task that has no result yet, and sends messages. The caller holds Env.Decisions.
func (e *Env) Note(ctx context.Context, rec state.Task, out ...Message) error {
	var rows []state.Message
	if len(out) > 0 {
		rows = e.Room.Render(ctx, out...)
		defer e.Room.Wake()
	}
	if err := e.Journal.Tasks.Note(ctx, rec, rows...); err != nil {
		return fmt.Errorf("note task: %w", err)
	}
	return nil
}
