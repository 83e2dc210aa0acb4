package outbox

import (
	"context"
	"fmt"

	"matrix-tui/bot/task"
	"matrix-tui/state"
)

// OriginOf returns where an event was sent.
func OriginOf(row state.Event) task.Origin {
	return task.Origin{Event: row.ID, Thread: row.Relation().Thread(), Moved: row.Moved()}
}

// Notice returns a message to a room that notifies nobody.
func Notice(room string, kind state.Kind, txn, text string) state.Message {
	return state.Message{Txn: txn, Room: room, Kind: kind, Notice: true, Body: text}
}

// Answer returns a notice that replies to a row, in its thread if it is in one.
func Answer(row state.Event, kind state.Kind, txn, text string) state.Message {
	return OriginOf(row).Reply(Notice(row.Room, kind, txn, text), row.ID, "")
}

// Message returns a message of the room in Markdown.
func (r *Room) Message(kind state.Kind, txn, text string) state.Message {
	return state.Message{Txn: txn, Room: r.ID, Kind: kind, Body: text}
}

// Notice returns a message of the room that notifies nobody.
func (r *Room) Notice(kind state.Kind, txn, text string) state.Message {
	return Notice(r.ID, kind, txn, text)
}

// Answer returns a notice that replies to a row, in its thread if it is in one.
func (r *Room) Answer(row state.Event, kind state.Kind, txn, text string) state.Message {
	return OriginOf(row).Reply(r.Notice(kind, txn, text), row.ID, "")
}

// Queue stores messages and sends them in order.
func (r *Room) Queue(ctx context.Context, out ...state.Message) error {
	if err := r.Journal.Messages.Queue(ctx, out...); err != nil {
		return fmt.Errorf("queue message: %w", err)
	}
	r.Wake()
	return nil
}

// Reply queues messages and finishes rows in one transaction.
func (r *Room) Reply(ctx context.Context, out []state.Message, rows ...string) error {
	if err := r.Journal.Messages.Reply(ctx, r.ID, out, rows...); err != nil {
		return err
	}
	r.Wake()
	return nil
}

// Tell answers a row with a notice and finishes the row.
func (r *Room) Tell(ctx context.Context, row state.Event, text string) error {
	return r.Reply(ctx, []state.Message{r.Answer(row, state.KindReply, ToldTxn(row), text)}, row.ID)
}

// ToldTxn returns the transaction ID of the notice that Tell sends for a row.
func ToldTxn(row state.Event) string { return state.KeyOf(row.Room, row.ID) + "-a" }
