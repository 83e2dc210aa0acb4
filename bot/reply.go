package bot

import (
	"context"
	"fmt"

	"matrix-tui/bot/command"
	"matrix-tui/bot/task"
	"matrix-tui/state"
)

func originOf(row state.Event) task.Origin {
	return task.Origin{Event: row.ID, Thread: row.Relation().Thread(), Moved: row.Moved()}
}

// out returns a message of the room in Markdown.
func (r *room) out(kind state.Kind, txn, text string) state.Message {
	return state.Message{Txn: txn, Room: r.id, Kind: kind, Body: text}
}

// notice returns a message of the room that notifies nobody.
func (r *room) notice(kind state.Kind, txn, text string) state.Message {
	m := r.out(kind, txn, text)
	m.Notice = true
	return m
}

// answer returns a notice that replies to a row.
func (r *room) answer(row state.Event, kind state.Kind, txn, text string) state.Message {
	return originOf(row).Reply(r.notice(kind, txn, text), row.ID, "")
}

// inThread returns the waiting task in whose thread a message was sent, or nil. The
// message answers the task's question, whoever wrote it.
func (r *room) inThread(ctx context.Context, row state.Event) (*state.Task, error) {
	root := row.Relation().Thread()
	if root == "" || r.bot.waits.Count(r.id) == 0 {
		return nil, nil
	}
	tasks, err := r.bot.Journal.Tasks.WaitingIn(ctx, r.id)
	if err != nil {
		return nil, fmt.Errorf("read waiting tasks: %w", err)
	}
	for i := range tasks {
		if tasks[i].Thread != root {
			continue
		}
		before, err := r.askedBefore(ctx, tasks[i], row)
		if err != nil {
			return nil, err
		}
		if before {
			return &tasks[i], nil
		}
	}
	return nil, nil
}

// taskFrom returns the task that a message asks for, or execution.ErrLimit if it is too
// large.
func taskFrom(row state.Event) (state.Task, error) {
	m, _ := row.Message()
	rec := state.Task{
		Source: state.FromRoom, Home: row.SentTo(), Thread: row.Relation().Thread(), ReplyTo: row.Relation().ReplyTo(),
		Execution: task.ExecutionID(row.Room, row.ID), Text: command.WithoutTask(m.Words()),
	}
	if f, ok := fileOf(row.Event); ok {
		rec.Text, rec.HasFile = task.WithFile(f, rec.Text), true
	}
	return task.New(rec, row)
}
