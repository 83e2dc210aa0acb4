package bot

import (
	"context"
	"fmt"
	"slices"

	"matrix-tui/bot/policy"
	"matrix-tui/bot/stop"
	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// joins returns the key of the task that a message becomes a part of, or "". That
// is the current task, or else one in the queue, if the same person sent it just before
// and the agent has not done anything yet.
func (r *room) joins(ctx context.Context, row state.Event) (key string, err error) {
	if r.bot.Debounce <= 0 || !row.Spoken() {
		return "", nil
	}
	current := r.turn.Current()
	if current != nil && current.Takes(row) {
		return current.Key(), nil
	}
	queued, err := r.bot.Journal.Tasks.In(ctx, r.id, state.TaskQueued)
	if err != nil {
		return "", fmt.Errorf("read queued tasks: %w", err)
	}
	for _, one := range slices.Backward(queued) {
		if (current == nil || one.Key != current.Key()) && r.env.Task(one).Joins(row) {
			return one.Key, nil
		}
	}
	return "", nil
}

// couldJoin reports whether a new event is a file, which may join a task that its sender's words before it make. Such a
// file needs no mention, because nobody mentions the bot in each of several files.
func (r *room) couldJoin(e event.Event) bool {
	m, ok := e.Message()
	return ok && m.IsFile() && r.bot.Debounce > 0
}

// filesBefore returns the files that the sender of a new task sent right before it. Where the bot must be mentioned, and a
// file cannot do that, they are parts of the task.
func (r *room) filesBefore(ctx context.Context, row state.Event) (files []state.Said, err error) {
	if r.bot.Debounce <= 0 || r.bot.policy.Room(r.id).Reply.In(r.bot.roster.MayBeAlone(r.id)) != policy.MentionOnly {
		return nil, nil
	}
	before, err := r.bot.Journal.Events.Before(ctx, r.id, row.Seq, stop.MaxSaid)
	if err != nil {
		return nil, fmt.Errorf("read earlier messages: %w", err)
	}
	next := row.Event
	for _, one := range slices.Backward(before) {
		m, ok := one.Message()
		if one.Sender != row.Sender || !ok {
			continue
		}
		_, file := fileOf(one.Event)
		// Only what asked for nothing is archived.
		if !file || r.bot.addressee(m) == policy.Others || one.Status != state.Archived || next.Time.Sub(one.Time) > task.WordsTime || one.Relation().Thread() != row.Relation().Thread() {
			break
		}
		files = append(files, state.Said{By: one.Sender, Text: m.Words(), Event: one.ID, Joined: true, At: one.Time, File: true})
		next = one.Event
	}
	slices.Reverse(files)
	return files, nil
}

// join adds a message to the task that it joins; it returns false if there is no
// such task any more. The caller holds r.turn.
func (r *room) join(ctx context.Context, row state.Event, text string) (bool, error) {
	key, err := r.joins(ctx, row)
	if err != nil || key == "" { // the task has started meanwhile
		return false, err
	}
	target, err := r.bot.Journal.Tasks.Get(ctx, key)
	if err != nil {
		return false, fmt.Errorf("read task: %w", err)
	}
	if target.State != state.TaskQueued && target.State != state.TaskRunning {
		return false, nil
	}
	if t := r.turn.Current(); t != nil && t.Key() == key {
		t.Took(row.Time, text != "")
	}
	return true, r.stop.Add(ctx, target, row, state.Said{Text: text, Joined: true})
}
