package bot

import (
	"context"

	"matrix-tui/state"
)

// out returns a message of the room in Markdown.
func (r *room) out(kind state.Kind, txn, text string) state.Message {
	return r.outbox.Message(kind, txn, text)
}

// notice returns a message of the room that notifies nobody.
func (r *room) notice(kind state.Kind, txn, text string) state.Message {
	return r.outbox.Notice(kind, txn, text)
}

// answer returns a notice that replies to a row.
func (r *room) answer(row state.Event, kind state.Kind, txn, text string) state.Message {
	return r.outbox.Answer(row, kind, txn, text)
}

// queue stores messages and sends them in order.
func (r *room) queue(ctx context.Context, out ...state.Message) error {
	return r.outbox.Queue(ctx, out...)
}

// reply queues messages and finishes rows in one transaction.
func (r *room) reply(ctx context.Context, out []state.Message, rows ...string) error {
	return r.outbox.Reply(ctx, out, rows...)
}
