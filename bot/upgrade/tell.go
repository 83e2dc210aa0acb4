package upgrade

import (
	"context"
	"errors"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/text"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/sentence"
)

// tellPlain tells the room and the owners that the bot does not follow a tombstone to a room that is not encrypted.
func (r *Room) tellPlain(ctx context.Context, tombstone state.Event) error {
	txn := state.KeyOf(tombstone.Room, tombstone.ID) + "-plain"
	if _, err := r.Journal.Messages.Get(ctx, txn); !errors.Is(err, state.ErrNotFound) {
		return err
	}
	r.Alerts.Note("⚠️ Room " + text.Code(r.ID) + " is encrypted, and was replaced by " +
		text.Code(tombstone.Body.Successor) + ", which is not. I stay in the old one.")
	return r.Out.Queue(ctx, r.Out.Notice(state.KindUpgrade, txn,
		"⚠️ This room was replaced by one that is not encrypted, so I stay here. Replace it with an encrypted one, and I "+
			"will bring the workspace and the history along."))
}

// tellStaying tells the owners, once, that the bot does not follow an upgrade because the
// room's own policy would not apply in the successor.
func (r *Room) tellStaying(successor string, why error) {
	r.tellMu.Lock()
	told := r.stays
	r.stays = true
	r.tellMu.Unlock()
	if told {
		return
	}
	r.Alerts.Note("⚠️ Room " + text.Code(r.ID) + " was upgraded to " + text.Code(successor) +
		", but its policy cannot move along, so I stay in the old room: " + sentence.Text(why) +
		" Fix policy.yaml, or add an entry for the new room by hand; I keep trying.")
}

// tellUninvited tells the room that the bot needs an invite to the successor, once per
// tombstone, and the owners, once a day. In the room it may no longer be allowed to.
func (r *Room) tellUninvited(ctx context.Context, tombstone state.Event) error {
	txn := state.KeyOf(tombstone.Room, tombstone.ID) + "-uninvited"
	if _, err := r.Journal.Messages.Get(ctx, txn); !errors.Is(err, state.ErrNotFound) {
		return err
	}
	out := r.Out.Notice(state.KindUpgrade, txn,
		"⚠️ This room was replaced, and I am not allowed into the new one. Invite me there, and I bring workspace and "+
			"history along.")
	call, cancel := context.WithTimeout(ctx, matrix.CallTimeout)
	defer cancel()
	if may, err := r.Account.Rooms.MaySend(call, r.ID, event.TypeMessage); err != nil && matrix.Temporary(err) {
		return err
	} else if !may {
		out.Status, out.Error = state.Refused, "not allowed to speak in the room"
	}
	if err := r.Out.Queue(ctx, out); err != nil {
		return err
	}
	r.tellMu.Lock()
	quiet := time.Since(r.uninvited) < 24*time.Hour
	r.uninvited = time.Now()
	r.tellMu.Unlock()
	if !quiet {
		r.Alerts.Note("⚠️ Room " + text.Code(r.ID) + " was upgraded to " + text.Code(tombstone.Body.Successor) +
			", but I am not allowed into that room. I stay in the old one until somebody invites me.")
	}
	return nil
}
