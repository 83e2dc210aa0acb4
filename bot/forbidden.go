package bot

import (
	"context"
	"errors"
	"fmt"

	"matrix-tui/bot/matrix"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// forbidden handles a refusal that is not about what is sent, such as M_FORBIDDEN. If the bot is not in the room, or its
// power level is too low for messages, it leaves the room and gives up the unsent
// ones. If it may not send something else, such as reactions, it continues without.
func (o *outbox) forbidden(ctx context.Context, row state.Message, why error) error {
	r, b := o.room, o.room.bot
	if !row.Says() {
		if r.firstRefusal(row.Relation) {
			b.log.Info().Str("room", r.id).Str("what", string(row.Relation)).Msg("not allowed here: going on without it")
		}
		return b.Journal.Messages.MarkRefused(ctx, row.Txn, why.Error())
	}
	may, err := b.account.MaySend(ctx, r.id, event.TypeMessage)
	if err != nil {
		return fmt.Errorf("check whether the bot may send: %w", err)
	}
	if may {
		return why // the homeserver contradicts itself
	}
	if been, err := b.Journal.Events.BeenIn(ctx, r.id); err != nil || !been {
		return errors.Join(err, why) // the successor of another room, which the bot is not in yet
	}
	rows, err := b.Journal.Messages.Unsent(ctx, r.id) // read before leaving: messages queued after a new invite are sent
	if err != nil {
		return err
	}
	if err := r.quit(ctx); err != nil {
		return err
	}
	for _, one := range rows {
		if err := b.Journal.Messages.MarkRefused(ctx, one.Txn, "not allowed to speak in the room: "+why.Error()); err != nil {
			return err
		}
	}
	return nil
}

// firstRefusal reports whether this is the first refused reaction or redaction in the room.
func (r *room) firstRefusal(kind state.Relation) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refused[kind] {
		return false
	}
	if r.refused == nil {
		r.refused = map[state.Relation]bool{}
	}
	r.refused[kind] = true
	return true
}

// quit leaves the room without a message. It succeeds if the bot has already left;
// an error is temporary.
func (r *room) quit(ctx context.Context) error {
	r.bot.log.Info().Str("room", r.id).Msg("not allowed to speak: leaving")
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := r.bot.account.Leave(call, r.id); err != nil && (matrix.Temporary(err) || ctx.Err() != nil) {
		return fmt.Errorf("leave room: %w", err)
	}
	return nil
}
