package turn

import (
	"context"

	"matrix-tui/state"
)

// Outbox queues what a room is told.
type Outbox interface {
	Notice(kind state.Kind, txn, text string) state.Message
	Queue(ctx context.Context, out ...state.Message) error
	Reply(ctx context.Context, out []state.Message, rows ...string) error
	Tell(ctx context.Context, row state.Event, text string) error
	Wake()
}
