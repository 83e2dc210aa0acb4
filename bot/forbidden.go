package bot

import (
	"context"
	"fmt"

	"matrix-tui/bot/matrix"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// forbidden does what a room's power levels leave the bot to do. Without
// messages there is nothing that it could do there: it leaves, and what was to
// be said is given up. Without anything else, such as reactions, it goes on.
func (o *outbox) forbidden(ctx context.Context, row state.Message, why error) error {
	r, b := o.room, o.room.bot
	if row.Type != event.TypeMessage {
		if r.firstRefusal(row.Type) {
			b.log.Info().Str("room", r.id).Str("type", row.Type).Msg("not allowed here: going on without")
		}
		return b.Journal.MarkRefused(ctx, row.Txn, why.Error())
	}
	rows, err := b.Journal.Unsent(ctx, r.id) // of before: what comes with a new invite is said
	if err != nil {
		return err
	}
	if err := r.quit(ctx); err != nil {
		return err
	}
	for _, one := range rows {
		if err := b.Journal.MarkRefused(ctx, one.Txn, "not allowed to speak in the room: "+why.Error()); err != nil {
			return err
		}
	}
	return nil
}

// firstRefusal tells whether a type of event is refused here for the first time.
func (r *room) firstRefusal(kind string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refused[kind] {
		return false
	}
	if r.refused == nil {
		r.refused = map[string]bool{}
	}
	r.refused[kind] = true
	return true
}

// quit leaves the room without a word. A room that the bot is out of already is
// left; an error is the homeserver's trouble.
func (r *room) quit(ctx context.Context) error {
	r.bot.log.Info().Str("room", r.id).Msg("not allowed to speak: leaving")
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := r.bot.account.Leave(call, r.id); err != nil && (matrix.Transient(err) || ctx.Err() != nil) {
		return fmt.Errorf("leave room: %w", err)
	}
	return nil
}
