package bot

import (
	"context"
	"errors"

	"matrix-tui/state"
	"matrix-tui/state/event"
)

// admitted is the bot as the admission of events sees it. It implements [admit.Rooms].
type admitted struct{ *Bot }

// Echoed is part of [admit.Rooms].
func (b admitted) Echoed(ctx context.Context, e event.Event) error {
	err := b.room(e.Room).outbox.Sent(ctx, e.Transaction, e.ID)
	if errors.Is(err, state.ErrNotFound) { // edits of a progress notice have no row
		err = b.noteAnswered(ctx, e)
	}
	if err == nil {
		b.pinEchoed(ctx, e.Transaction)
	}
	return err
}

// Stored is part of [admit.Rooms].
func (b admitted) Stored(row state.Event) {
	if row.Status != state.Pending {
		return
	}
	r := b.room(row.Room)
	if row.Type == event.TypeGone && !b.upgrades.Moves(row.Room) {
		r.turn.Abandon()
	}
	r.wake()
}

// Wake is part of [admit.Rooms].
func (b admitted) Wake(room string) {
	r := b.room(room)
	r.wake()
	r.outbox.Wake()
}

// Present is part of [admit.Rooms].
func (b admitted) Present(room string, typing []string, expected bool) {
	r := b.room(room)
	if typing != nil {
		r.typing.Note(typing)
	}
	if expected {
		r.env.SignOfLife(b.ctx, 0)
	}
}

// Queue is part of [admit.Rooms].
func (b admitted) Queue(ctx context.Context, m state.Message) error {
	return b.room(m.Room).outbox.Queue(ctx, m)
}

// Alarm is part of [admit.Rooms].
func (b admitted) Alarm(ctx context.Context, room string, err error) { b.room(room).alarm(ctx, err) }

// noteAnswered records a message of this account that is not in the journal, if it
// finished an event: a result, or a reply by [outbox.Room.Tell]. That happens only after the state
// directory was restored from a backup. Events since the backup arrive again, and those
// that were handled must not be handled twice: see [state.Messages.Answered].
func (b admitted) noteAnswered(ctx context.Context, e event.Event) error {
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

// pinEchoed pins a question whose echo arrived by /sync, if the bot stopped between
// sending and pinning it.
func (b admitted) pinEchoed(ctx context.Context, txn string) {
	if b.waits.Total() == 0 {
		return
	}
	m, err := b.Journal.Messages.Get(ctx, txn)
	if err != nil || m.Kind != state.KindQuestion {
		return
	}
	if one, ok := b.waits.Unpinned(m.Task); ok {
		b.work.Start(func() {
			if err := b.room(one.Room).turn.Look(ctx, m.Task); err != nil && ctx.Err() == nil {
				b.log.Warn().Err(err).Str("room", one.Room).Msg("cannot pin the question") // retried when the room is next checked
			}
		})
	}
}
