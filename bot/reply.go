package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

func originOf(row state.Event) task.Origin {
	return task.Origin{Event: row.ID, Thread: row.Relation().Thread(), Moved: row.Moved()}
}

// relate is the relation of a message that answers an event: a reply, in the
// thread of the origin, if it stands in one. Nil when the event is the origin's,
// and stands in another room.
func relate(o task.Origin, about string) *matrix.RelatesTo {
	rel := matrix.ReplyTo(about)
	if o.Moved {
		if about == o.Event {
			return nil
		}
		return rel // to what was said here
	}
	if o.Thread != "" {
		rel = matrix.ReplyTo(o.Event) // in a thread every relation must be sendable as it is
		rel.RelType, rel.EventID = "m.thread", o.Thread
	}
	return rel
}

// follows is the relation of what comes behind a first message: in a thread it
// stands there, too.
func follows(o task.Origin) *matrix.RelatesTo {
	if o.Thread == "" || o.Moved {
		return nil
	}
	rel := matrix.ReplyTo(o.Event)
	rel.RelType, rel.EventID, rel.IsFallingBack = "m.thread", o.Thread, true
	return rel
}

// inThread finds the waiting task whose thread a message stands in: it answers
// its question, whoever wrote it.
func (r *room) inThread(ctx context.Context, row state.Event) (*state.Task, error) {
	root := row.Relation().Thread()
	if root == "" || r.bot.waits.Count(r.id) == 0 {
		return nil, nil
	}
	tasks, err := r.bot.Journal.WaitingIn(ctx, r.id)
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

// taskFrom is the task that a message asks for. It is agent.ErrLimit for one that
// is too large.
func taskFrom(row state.Event) (state.Task, error) {
	m, _ := row.Message()
	rec := state.Task{
		Source: state.FromRoom, Home: row.SentTo(), Thread: row.Relation().Thread(), ReplyTo: row.Relation().ReplyTo(),
		Execution: task.ExecutionID(row.Room, row.ID), Text: taskWords(taskText(m)),
	}
	if f, ok := fileOf(row.Event); ok {
		rec.Text, rec.HasFile = task.WithFile(f, rec.Text), true
	}
	return task.New(rec, row)
}

// taskWords is a text without the command that only says that it is a task.
func taskWords(text string) string {
	if c, rest, ok := parseCommand(text); ok && c.run == nil {
		return rest
	}
	return text
}

// message is the content of an m.room.message of ours.
type message = matrix.Message

// out makes the outbox row of a message.
func (r *room) out(kind state.Kind, txn string, m *message) state.Message {
	m.Txn = txn
	about := ""
	if rel := m.RelatesTo; rel != nil {
		about = ownTxn(rel.EventID)
		if about == "" && rel.InReplyTo != nil {
			about = ownTxn(rel.InReplyTo.EventID)
		}
	}
	content, err := json.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("marshal message: %v", err)) // plain strings and numbers cannot fail
	}
	return state.Message{Txn: txn, Room: r.id, Kind: kind, Type: event.TypeMessage, Content: content, About: about}
}

// ownTxn is the transaction that stands for an event, see [state.AboutRef]; ""
// where an event stands.
func ownTxn(event string) string {
	txn, ok := strings.CutPrefix(event, state.AboutRef(""))
	if !ok {
		return ""
	}
	return txn
}
