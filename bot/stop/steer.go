package stop

import (
	"context"

	"matrix-tui/state"
)

// MaxSaid is the maximum number of messages that can be added to one task.
const MaxSaid = 64

// Steer stops the run and continues its session with a text.
func (o Orders) Steer(ctx context.Context, row state.Event, text string) error {
	o.Lock()
	defer o.Unlock()
	all, err := o.Opened(ctx)
	if err != nil {
		return err
	}
	for _, one := range all {
		if one.Running && one.Task.Compact {
			return o.Out.Tell(ctx, row, "I am compacting the session, not working on a task. Send this as a new task.")
		}
		if one.Running {
			return o.Add(ctx, one.Task, row, state.Said{Text: text})
		}
	}
	if len(all) > 0 {
		return o.Out.Tell(ctx, row, "No task is running, but a question is open: reply to it.")
	}
	return o.Out.Tell(ctx, row, "No task is running. Send this as a new task.")
}

// Add adds what the message in row says to a task that has no result yet, and finishes the row. The caller holds the
// lock.
func (o Orders) Add(ctx context.Context, rec state.Task, row state.Event, said state.Said) error {
	for _, one := range rec.Said {
		if one.Event == row.ID { // stored before a restart
			return o.Finish(ctx, row)
		}
	}
	if len(rec.Said) >= MaxSaid {
		return o.Out.Tell(ctx, row, "This task has already received too many messages. Cancel it with `!stop`, then send a "+
			"new task.")
	}
	m, _ := row.Message()
	said.By, said.Event, said.At, said.File = row.Sender, row.ID, row.Time, m.File != nil && !m.IsEdit()
	rec.Said = append(rec.Said, said)
	if err := o.Env.Note(ctx, rec); err != nil {
		return err
	}
	o.Signal(rec.Key, "↪️ adding a message from "+o.Env.NameOf(said.By))
	return o.Finish(ctx, row)
}
