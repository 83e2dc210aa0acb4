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
