package bot

import (
	"context"

	"matrix-tui/state"
	"matrix-tui/state/event"
)

// noteAnswered records a message of this account that is not in the journal, if it
// finished an event: a result, or a reply by [outbox.Room.Tell]. That happens only after the state
// directory was restored from a backup. Events since the backup arrive again, and those
// that were handled must not be handled twice: see [state.Messages.Answered].
func (b *Bot) noteAnswered(ctx context.Context, e event.Event) error {
	key, kind, _ := state.KindOfTxn(e.Transaction)
	if e.Relation().RelType == "m.replace" { // an edit of a notice
		return nil
	}
	switch kind {
	case state.KindFinal, state.KindTooLarge, state.KindReply:
	default:
		return nil
	}
	if err := b.Journal.Messages.Queue(ctx, state.Message{Txn: e.Transaction, Room: e.Room, Kind: kind, Event: e.ID,
		Status: state.Sent}); err != nil {
		return err
	}
	if kind == state.KindReply {
		return nil
	}
	return b.room(e.Room).env.FinishAnswered(ctx, key)
}
