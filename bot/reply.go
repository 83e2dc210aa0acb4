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

// relate returns the relation of a message that answers an event: a reply, in the
// origin's thread if there is one. It returns nil if the event is the origin's and
// the room was upgraded since, because then the event is in the old room.
func relate(o task.Origin, about string) *matrix.RelatesTo {
	rel := matrix.ReplyTo(about)
	if o.Moved {
		if about == o.Event {
			return nil
		}
		return rel // an event of this room
	}
	if o.Thread != "" {
		rel = matrix.ReplyTo(o.Event) // in a thread, a relation must be valid without resolving
		rel.RelType, rel.EventID = "m.thread", o.Thread
	}
	return rel
}

// follows returns the relation of a message that continues another one: part of the
// origin's thread, or nil without a thread.
func follows(o task.Origin) *matrix.RelatesTo {
	if o.Thread == "" || o.Moved {
		return nil
	}
	rel := matrix.ReplyTo(o.Event)
	rel.RelType, rel.EventID, rel.IsFallingBack = "m.thread", o.Thread, true
	return rel
}

// inThread returns the waiting task in whose thread a message was sent, or nil. The
// message answers the task's question, whoever wrote it.
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

// taskFrom returns the task that a message asks for, or execution.ErrLimit if it is too
// large.
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

// taskWords returns a text without a leading "!task".
func taskWords(text string) string {
	if c, rest, ok := parseCommand(text); ok && c.run == nil {
		return rest
	}
	return text
}

// message is the content of an m.room.message that the bot sends.
type message = matrix.Message

// out returns the outbox row of a message.
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

// ownTxn returns the transaction ID in a reference made by [state.AboutRef], or ""
// for a real event ID.
func ownTxn(event string) string {
	txn, ok := strings.CutPrefix(event, state.AboutRef(""))
	if !ok {
		return ""
	}
	return txn
}
