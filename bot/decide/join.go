package decide

import (
	"context"
	"fmt"
	"slices"

	"matrix-tui/bot/media"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/stop"
	"matrix-tui/bot/task"
	"matrix-tui/state"
)

// joins returns the key of the task that a message becomes a part of, or "". That is the current task, or else one in
// the queue, if the same person sent it just before and the agent has not done anything yet.
func (r *Room) joins(ctx context.Context, row state.Event) (key string, err error) {
	if r.Env.Debounce <= 0 || !row.Spoken() {
		return "", nil
	}
	current := r.Current()
	if current != nil && current.Takes(row) {
		return current.Key(), nil
	}
	queued, err := r.Env.Journal.Tasks.In(ctx, r.Env.ID, state.TaskQueued)
	if err != nil {
		return "", fmt.Errorf("read queued tasks: %w", err)
	}
	for _, one := range slices.Backward(queued) {
		if (current == nil || one.Key != current.Key()) && r.Env.Task(one).Joins(row) {
			return one.Key, nil
		}
	}
	return "", nil
}

// join adds a message to the task that it joins, or queues it as a new task if that one has started meanwhile.
func (r *Room) join(ctx context.Context, row state.Event, alone bool) error {
	r.Lock()
	defer r.Unlock()
	key, err := r.joins(ctx, row)
	if err != nil {
		return err
	}
	if key == "" {
		return r.enqueue(ctx, row, alone)
	}
	rec, err := r.Env.Journal.Tasks.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("read task: %w", err)
	}
	if rec.State != state.TaskQueued && rec.State != state.TaskRunning {
		return r.enqueue(ctx, row, alone)
	}
	m, _ := row.Message()
	if w := r.Current(); w != nil && w.Key() == key {
		w.Took(row.Time, m.Words() != "")
	}
	return r.Add(ctx, rec, row, state.Said{Text: m.Words(), Joined: true})
}

// filesBefore returns the files that the sender of a new task sent right before it. Where the bot must be mentioned,
// and a file cannot do that, they are parts of the task.
func (r *Room) filesBefore(ctx context.Context, row state.Event, alone bool) (files []state.Said, err error) {
	if r.Env.Debounce <= 0 || r.Env.Policy.Room(r.Env.ID).Reply.In(alone) != policy.MentionOnly {
		return nil, nil
	}
	before, err := r.Env.Journal.Events.Before(ctx, r.Env.ID, row.Seq, stop.MaxSaid)
	if err != nil {
		return nil, fmt.Errorf("read earlier messages: %w", err)
	}
	next := row.Event
	for _, one := range slices.Backward(before) {
		m, ok := one.Message()
		if one.Sender != row.Sender || !ok {
			continue
		}
		// Only what asked for nothing is archived.
		_, file := media.FileOf(one.Event)
		if !file || r.Judge.Addressee(m) == policy.Others || one.Status != state.Archived ||
			next.Time.Sub(one.Time) > task.WordsTime || one.Relation().Thread() != row.Relation().Thread() {
			break
		}
		files = append(files, state.Said{By: one.Sender, Text: m.Words(), Event: one.ID, Joined: true, At: one.Time,
			File: true})
		next = one.Event
	}
	slices.Reverse(files)
	return files, nil
}
