package upgrade

import (
	"context"
	"errors"

	"matrix-tui/bot/text"
	"matrix-tui/state"
	"matrix-tui/state/sentence"
)

// tellPlain says that the bot does not follow a tombstone to a room that is not encrypted.
func (r *Room) tellPlain(ctx context.Context, tombstone state.Event) error {
	return r.tell(ctx, tombstone, "-plain", " is encrypted, and was replaced by "+text.Code(tombstone.Body.Successor)+
		", which is not. I stay in the old one.",
		"This room was replaced by one that is not encrypted, so I stay here. Replace it with an encrypted one, and I "+
			"will bring the workspace and the history along.")
}

// tellUninvited says that the bot needs an invite to the successor.
func (r *Room) tellUninvited(ctx context.Context, tombstone state.Event) error {
	return r.tell(ctx, tombstone, "-uninvited", " was upgraded to "+text.Code(tombstone.Body.Successor)+
		", but I am not allowed into that room. I stay in the old one until somebody invites me.",
		"This room was replaced, and I am not allowed into the new one. Invite me there, and I'll bring workspace and "+
			"history along.")
}

// tell tells the owners about the room, and the room itself, once per tombstone.
func (r *Room) tell(ctx context.Context, tombstone state.Event, txn, owners, room string) error {
	txn = state.KeyOf(tombstone.Room, tombstone.ID) + txn
	if _, err := r.Journal.Messages.Get(ctx, txn); !errors.Is(err, state.ErrNotFound) {
		return err
	}
	r.Alerts.Note("⚠️ Room " + text.Code(r.ID) + owners)
	return r.Out.Queue(ctx, r.Out.Notice(state.KindUpgrade, txn, "⚠️ "+room))
}

// tellStaying tells the owners, once per tombstone, that the bot does not follow an upgrade because the policy of the
// room would not apply in the successor.
func tellStaying(r *Room, tombstone state.Event, why error) {
	r.Turn.Lock()
	told := r.stayed == tombstone.ID
	r.stayed = tombstone.ID
	r.Turn.Unlock()
	if told {
		return
	}
	r.Alerts.Note("⚠️ Room " + text.Code(r.ID) + " was upgraded to " + text.Code(tombstone.Body.Successor) +
		", but its policy cannot move along, so I stay in the old room: " + sentence.Text(why) +
		" Fix policy.yaml, or add an entry for the new room by hand; I keep trying.")
}
