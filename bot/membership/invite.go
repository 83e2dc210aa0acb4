package membership

import (
	"context"
	"fmt"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/state"
)

// inviteTime is how long to retry a join if the room's server is unreachable.
const inviteTime = 24 * time.Hour

// invite accepts an invitation from somebody who may use the bot and declines
// any other.
func (r *Room) invite(ctx context.Context, row state.Event) error {
	call, cancel := context.WithTimeout(ctx, 2*matrix.CallTimeout)
	defer cancel()
	log := r.Roster.Log.With().Str("room", r.Out.ID).Str("sender", row.Sender).Logger()
	welcome, err := r.welcomes(row)
	if err != nil {
		return err
	}
	if !welcome && !r.Upgrade.MayFollow(row.Sender) {
		if entered, err := r.Upgrade.HasFollowed(call); err != nil {
			return err
		} else if entered {
			return r.finish(ctx, row)
		}
		log.Info().Msg("invite declined: the sender may not use the bot")
		return r.decline(ctx, row)
	}
	err = r.Roster.Account.Rooms.Join(call, r.Out.ID)
	if r.mayJoinLater(err, row) {
		return fmt.Errorf("join room: %w", err)
	}
	if err != nil {
		log.Warn().Err(err).Msg("cannot join the room: declining the invite")
		return r.decline(ctx, row)
	}
	before, err := r.Upgrade.Inherit(call)
	if r.refused.Again("predecessor "+row.ID, err) {
		return err
	}
	if !welcome { // the predecessor may have moved meanwhile
		if welcome, err = r.welcomes(row); err != nil {
			return err
		}
	}
	if !welcome && (before == "" || !r.Roster.Hears(before, row.Sender)) {
		log.Warn().Msg("invited to a room that does not replace one in which the sender may use the bot: leaving")
		return r.decline(ctx, row)
	}
	if row.InvitesDirectly() {
		if err := r.Roster.MarkDirect(ctx, row.Sender, r.Out.ID, &r.refused); err != nil {
			return err
		}
	}
	return r.finish(ctx, row)
}

// decline declines an invitation, so that whoever sent it sees that, and can send another one.
func (r *Room) decline(ctx context.Context, row state.Event) error {
	call, cancel := context.WithTimeout(ctx, matrix.CallTimeout)
	defer cancel()
	if err := r.Roster.Account.Rooms.Leave(call, r.Out.ID); r.refused.Again("decline "+row.ID, err) {
		return fmt.Errorf("decline invite: %w", err)
	}
	return r.finish(ctx, row)
}

// welcomes reports whether an invitation is from somebody who may use the bot or, to a direct chat, who can get a
// pairing code.
func (r *Room) welcomes(invite state.Event) (bool, error) {
	d := r.Roster.MayUse(r.Out.ID, invite.Sender, invite.InvitesDirectly())
	if d.Heard || !d.Pair {
		return d.Heard, nil
	}
	codes, err := r.codeFor(invite.Sender)
	return len(codes) > 0, err
}

// mayJoinLater reports whether a join that failed with err is worth another try.
func (r *Room) mayJoinLater(err error, invite state.Event) bool {
	if matrix.Temporary(err) {
		return time.Since(invite.Time) < inviteTime
	}
	return r.refused.Again("join "+invite.ID, err)
}
