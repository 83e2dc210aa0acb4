package bot

import (
	"context"
	"errors"
	"fmt"
	"math"

	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// maxSteer bounds the texts that one task takes on its walk.
const maxSteer = 64

// doSteer is !steer: the run is stopped, and its session goes on with the text.
func (r *room) doSteer(ctx context.Context, row state.Event, text string) error {
	r.books.Lock()
	defer r.books.Unlock()
	all, err := r.candidates(ctx)
	if err != nil {
		return err
	}
	for _, one := range all {
		if one.running {
			return r.steer(ctx, one.task, row, state.Said{By: row.Sender, Text: text, Event: row.ID, At: row.Time})
		}
	}
	if len(all) > 0 {
		return r.tell(ctx, row, "No task is running to steer, but a question is open: reply to it.")
	}
	return r.tell(ctx, row, "No task is running to steer. Send this as a task.")
}

// steer gives a task that has no result yet a text, and ends the row that it came
// with. The caller holds the books.
func (r *room) steer(ctx context.Context, target state.Task, row state.Event, said state.Said) error {
	for _, one := range target.Said {
		if one.Event == row.ID { // noted in a former life
			return r.finish(ctx, row)
		}
	}
	if len(target.Said) >= maxSteer {
		return r.tell(ctx, row, "This task has already received too many messages. Cancel it with `!stop`, then send a new task.")
	}
	_, said.File = fileOf(row.Event)
	target.Said = append(target.Said, said)
	if err := r.env.Note(ctx, target); err != nil {
		return err
	}
	r.signalStop(target.Key, "↪️ taking in what "+task.Localpart(said.By)+" says")
	return r.finish(ctx, row)
}

// joins tells of which task a message is a part, "" for none: by the same person,
// right behind it, and before the agent has done anything. That is the task at
// work, or the one that is next.
func (r *room) joins(ctx context.Context, row state.Event) (key string, err error) {
	if r.bot.Debounce <= 0 || !row.Spoken() {
		return "", nil
	}
	if t := r.atWork(); t != nil {
		if !t.Takes(row) {
			return "", nil
		}
		return t.Key(), nil
	}
	next, err := r.bot.Journal.NextTask(ctx, r.id)
	if errors.Is(err, state.ErrNotFound) || err == nil && next.State != state.TaskQueued {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look up next task: %w", err)
	}
	if !r.env.Task(next).Joins(row) {
		return "", nil
	}
	return next.Key, nil
}

// couldJoin tells whether an event that is new is a file that joins a task: nobody
// mentions the bot under each of several files.
func (r *room) couldJoin(ctx context.Context, e event.Event) bool {
	m, ok := e.Message()
	if !ok || !m.IsFile() {
		return false
	}
	key, err := r.joins(ctx, state.Event{Event: e, Seq: math.MaxInt64})
	return err == nil && key != ""
}

// join makes a message a part of the task that it joins, if there still is one.
// The caller holds the books.
func (r *room) join(ctx context.Context, row state.Event, text string) (bool, error) {
	key, err := r.joins(ctx, row)
	if err != nil || key == "" { // the worker has gone on meanwhile
		return false, err
	}
	target, err := r.bot.Journal.Task(ctx, key)
	if err != nil {
		return false, fmt.Errorf("read task: %w", err)
	}
	if target.State != state.TaskQueued && target.State != state.TaskRunning {
		return false, nil
	}
	if t := r.atWork(); t != nil {
		t.Took(row.Time)
	}
	return true, r.steer(ctx, target, row, state.Said{By: row.Sender, Text: text, Event: row.ID, Joined: true, At: row.Time})
}
