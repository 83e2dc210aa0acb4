package bot

import (
	"context"
	"errors"

	"matrix-tui/state"
)

// sent notes which event of a room one of our messages became. If it is another one
// already, it removes this one. A homeserver that dies while it takes a message may take
// it again with the next request, and show the first one as well: Dendrite v0.15.2 does
// that five minutes later. The error is state.ErrNotFound for an unknown transaction ID.
func (b *Bot) sent(ctx context.Context, room, txn, id string) error {
	err := b.Journal.Messages.MarkSent(ctx, txn, id)
	if !errors.Is(err, state.ErrTwice) {
		return err
	}
	row, err := b.Journal.Messages.Get(ctx, txn)
	if err != nil {
		return err
	}
	b.log.Warn().Str("room", room).Str("txn", txn).Str("event", id).Msg("the homeserver has taken a message twice")
	if !row.Says() || row.Kind == state.KindNoticeEdit || row.Kind == state.KindQuestionEdit { // nobody sees that it is there twice
		return nil
	}
	return b.room(room).queue(ctx, state.Message{
		Txn: state.Hash(room+"\x00"+id) + "-twice", Room: room, Kind: state.KindRedaction, Relation: state.Redaction, Target: id,
	})
}
