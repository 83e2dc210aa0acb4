package outbox

import (
	"context"
	"errors"
	"fmt"

	"matrix-tui/bot/matrix"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// forbidden handles a refusal that is not about what is sent, such as M_FORBIDDEN. If the bot is not in the room, or
// its power level is too low for messages, it leaves the room and gives up the unsent
// ones. If it may not send something else, such as reactions, it continues without.
func (r *Room) forbidden(ctx context.Context, row state.Message, why error) error {
	if !row.Says() {
		if !r.refused[row.Relation] {
			if r.refused == nil {
				r.refused = map[state.Relation]bool{}
			}
			r.refused[row.Relation] = true
			r.Group.Log.Info().Str("room", r.ID).Str("what", string(row.Relation)).Msg("not allowed here: going on without it")
		}
		return r.Journal.Messages.MarkRefused(ctx, row.Txn, why.Error())
	}
	may, err := r.Account.Rooms.MaySend(ctx, r.ID, event.TypeMessage)
	if err != nil {
		return fmt.Errorf("check whether the bot may send: %w", err)
	}
	if may {
		return why // the homeserver contradicts itself
	}
	if been, err := r.Journal.Events.BeenIn(ctx, r.ID); err != nil || !been {
		return errors.Join(err, why) // the successor of another room, which the bot is not in yet
	}
	rows, err := r.Journal.Messages.Unsent(ctx, r.ID) // read before leaving: messages queued after a new invite are sent
	if err != nil {
		return err
	}
	if err := r.quit(ctx); err != nil {
		return err
	}
	for _, one := range rows {
		if err := r.Journal.Messages.MarkRefused(ctx, one.Txn, "not allowed to speak in the room: "+why.Error()); err != nil {
			return err
		}
	}
	return nil
}

// quit leaves the room without a message. It succeeds if the bot has already left;
// an error is temporary.
func (r *Room) quit(ctx context.Context) error {
	r.Group.Log.Info().Str("room", r.ID).Msg("not allowed to speak: leaving")
	call, cancel := context.WithTimeout(ctx, matrix.CallTimeout)
	defer cancel()
	if err := r.Account.Rooms.Leave(call, r.ID); err != nil && (matrix.Temporary(err) || ctx.Err() != nil) {
		return fmt.Errorf("leave room: %w", err)
	}
	return nil
}
