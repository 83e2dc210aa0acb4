package outbox

import (
	"context"
	"errors"

	"matrix-tui/state"
)

// Sent notes which event one of the room's messages became. If it is another one
// already, it removes this one. A homeserver that dies while it takes a message may take
// it again with the next request, and show the first one as well: Dendrite v0.15.2 does
// that five minutes later. The error is state.ErrNotFound for an unknown transaction ID.
func (r *Room) Sent(ctx context.Context, txn, event string) error {
	err := r.Journal.Messages.MarkSent(ctx, txn, event)
	if !errors.Is(err, state.ErrTwice) {
		return err
	}
	row, err := r.Journal.Messages.Get(ctx, txn)
	if err != nil {
		return err
	}
	r.Group.Log.Warn().Str("room", r.ID).Str("txn", txn).Str("event", event).
		Msg("the homeserver has taken a message twice")
	// nobody sees that it is there twice
	if !row.Says() || row.Kind == state.KindNoticeEdit || row.Kind == state.KindQuestionEdit {
		return nil
	}
	return r.Queue(ctx, state.Message{
		Txn: state.Hash(r.ID+"\x00"+event) + "-twice", Room: r.ID, Kind: state.KindRedaction, Relation: state.Redaction,
		Target: event,
	})
}
