package task

import (
	"context"
	"encoding/json"
	"fmt"

	"matrix-tui/state"
	"matrix-tui/state/execution"
)

// Redact removes what a redacted message of the room home said from the room's tasks, history, executions and
// transcript. If the room's session has it, the next task starts a new one: the session's own recording cannot lose it.
// A task that has not ended keeps its session until then. It may be repeated.
func (e *Env) Redact(ctx context.Context, home, event string) error {
	if err := e.Store.Redact(ctx, e.ID, event); err != nil {
		return fmt.Errorf("redact message in history: %w", err)
	}
	session := e.Store.Session(e.ID)
	received, err := e.Journal.Quoted(ctx, home, event, e.ID, session)
	if err != nil {
		return err
	}
	tasks, err := e.Journal.Redact(ctx, home, event, e.ID)
	if err != nil {
		return err
	}
	for _, rec := range tasks {
		received = received || rec.Attempt > 0 && (rec.State != state.TaskDone || session != "" && rec.Session == session)
		if err := e.project(ctx, rec.Key); err != nil {
			return err
		}
	}
	if received {
		if err := e.Store.EndSession(ctx, e.ID); err != nil {
			return fmt.Errorf("end session: %w", err)
		}
	}
	if err := e.redactOld(ctx, ExecutionID(home, event)); err != nil {
		return err
	}
	return e.Transcripts.Redact(e.ID, event)
}

// redactOld redacts an execution in state.json whose task is no longer in the journal.
func (e *Env) redactOld(ctx context.Context, id string) error {
	e.projecting.Lock()
	defer e.projecting.Unlock()
	var old execution.Execution
	_, raw, ok := e.Store.Execution(id)
	if !ok || json.Unmarshal(raw, &old) != nil || len(old.Transcript) == 0 || old.Transcript[0] == state.Deleted {
		return nil
	}
	old.Transcript, old.Topics = []string{state.Deleted}, []string{}
	return e.put(ctx, &old)
}
