package task

import (
	"context"
	"fmt"

	"matrix-tui/agent"
	"matrix-tui/bot/recall"
	"matrix-tui/state"
	"matrix-tui/state/execution"
)

// ExecutionOf returns a task as the HTTP API shows it.
func ExecutionOf(rec state.Task) *execution.Execution {
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
