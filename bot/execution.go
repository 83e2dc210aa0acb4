package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"matrix-tui/agent"
	"matrix-tui/bot/task"
	"matrix-tui/state"
)

// resumeWaiting resumes waiting for answers to the questions that were open before
// the restart, and reports tasks that were lost with the journal.
func (b *Bot) resumeWaiting(ctx context.Context) error {
	tasks, err := b.Journal.Waiting(ctx)
	if err != nil {
		return fmt.Errorf("list waiting tasks: %w", err)
	}
	waiting := map[string]bool{}
	var saves errgroup.Group // concurrently, so that they share a write
	for _, rec := range tasks {
		waiting[rec.Execution] = true
		r := b.room(rec.Room)
		save := false
		err := b.guarded(rec.Room, "resuming a question", func() (err error) {
			save, err = r.env.Restore(ctx, rec)
			return err
		})
		if err != nil && !isPanic(err) {
			return err
		}
		if save {
			saves.Go(func() error { r.env.ProjectSoon(ctx, rec.Key); return nil })
		}
	}
	_ = saves.Wait()
	return b.loseOrphans(ctx, waiting)
}

// lost is the error text of a task that the journal no longer has.
const lost = "I lost track of this task because my journal was damaged or replaced. The work so far is in /workspace. Please send the task again."

// loseOrphans fails the unfinished executions in state.json that have no task in
// the journal, and tells their rooms. waiting holds the IDs of executions that are
// known to wait for an answer.
func (b *Bot) loseOrphans(ctx context.Context, waiting map[string]bool) error {
	for _, raw := range b.Store.Unfinished() {
		var e agent.Execution
		if err := json.Unmarshal(raw, &e); err != nil {
			b.log.Warn().Err(err).Msg("cannot parse an execution in state.json")
			continue
		}
		if waiting[e.ID] {
			continue
		}
		_, err := b.Journal.TaskByExecution(ctx, e.ID)
		if err == nil {
			continue // the task is in the journal
		}
		if !errors.Is(err, state.ErrNotFound) {
			return fmt.Errorf("look up execution %s: %w", e.ID, err)
		}
		if e.State == agent.Pending {
			_ = e.Start(time.Now())
		}
		if err := e.Fail(lost, time.Now()); err != nil {
			continue
		}
		data, err := json.Marshal(&e)
		if err != nil {
			return fmt.Errorf("marshal execution: %w", err)
		}
		if err := b.Store.PutExecution(ctx, e.Room, data); err != nil {
			return fmt.Errorf("save execution: %w", err)
		}
		r := b.room(e.Room)
		m := r.out(state.KindLost, task.Hash(e.ID)+"-lost", "⚠️ "+lost)
		if e.TaskEvent != "" {
			m.Relation, m.Target = state.Reply, e.TaskEvent
		}
		if err := r.queue(ctx, m); err != nil {
			return err
		}
	}
	return nil
}
