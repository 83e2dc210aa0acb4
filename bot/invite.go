package bot

import (
	"context"
	"fmt"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/state"
)

// doInvite accepts an invitation from somebody who may use the bot and declines
// any other.
func (r *room) doInvite(ctx context.Context, row state.Event) error {
	call, cancel := context.WithTimeout(ctx, 2*callTimeout)
	defer cancel()
	unlock, err := r.bot.upgrades.entering.Lock(call, r.id)
	if err != nil {
		return &notJoinedError{err}
	}
	defer unlock()
	welcome, err := r.mayInvite(row.Sender, row.InvitesDirectly())
	if err != nil {
		return err
	}
	if !welcome && !r.mayFollow(row.Sender) {
		if entered, err := r.hasFollowed(call); err != nil {
			return &notJoinedError{err}
		} else if entered {
			return r.finish(ctx, row)
		}
		r.bot.log.Info().Str("room", r.id).Str("sender", row.Sender).Msg("invite declined: the sender may not use the bot")
		return r.decline(ctx, row)
	}
	err = r.bot.account.Rooms.Join(call, r.id)
	switch {
	case err == nil:
		if welcome {
			r.bot.upgrades.settled(r.id)
		}
		before, err := r.inherit(call)
		if r.refusal.Again("predecessor "+row.ID, err) {
			return &notJoinedError{err}
		}
		if !welcome { // the predecessor may have moved meanwhile
			if welcome, err = r.mayInvite(row.Sender, row.InvitesDirectly()); err != nil {
				return err
			}
		}
		if !welcome && (before == "" || !r.bot.mayUse(before, row.Sender, r.bot.roster.IsDirect(before)).Heard) {
			r.bot.log.Warn().Str("room", r.id).Str("sender", row.Sender).Msg("invited to a room that does not replace one in which the sender may use the bot: leaving")
			return r.decline(ctx, row)
		}
		if err := r.noteDirect(ctx, row); err != nil {
			return err
		}
	case r.mayJoinLater(err, row):
		return &notJoinedError{fmt.Errorf("join room: %w", err)}
	default:
		r.bot.log.Warn().Err(err).Str("room", r.id).Msg("cannot join the room: declining the invite")
		return r.decline(ctx, row)
	}
	return r.finish(ctx, row)
}

// decline declines an invitation, so that whoever sent it sees that, and can send another one.
func (r *room) decline(ctx context.Context, row state.Event) error {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := r.bot.account.Rooms.Leave(call, r.id); r.refusal.Again("decline "+row.ID, err) {
		return &notJoinedError{fmt.Errorf("decline invite: %w", err)}
	}
	return r.finish(ctx, row)
}

// mayInvite reports whether a user may invite the bot: users who may use it, and, to
// a direct chat, users who can get a pairing code.
func (r *room) mayInvite(user string, direct bool) (bool, error) {
	d := r.bot.mayUse(r.id, user, direct)
	if d.Heard || !d.Pair {
		return d.Heard, nil
	}
	codes, err := r.codeFor(user)
	return len(codes) > 0, err
}

// mayJoinLater reports whether a join that failed with err is worth another try.
func (r *room) mayJoinLater(err error, invite state.Event) bool {
	if matrix.Temporary(err) {
		return time.Since(invite.Time) < inviteTime
	}
	return r.refusal.Again("join "+invite.ID, err)
}

// noteDirect marks the room as a direct chat if the invite says so.
func (r *room) noteDirect(ctx context.Context, invite state.Event) error {
	if !invite.InvitesDirectly() {
		return nil
	}
	return r.bot.roster.MarkDirect(ctx, invite.Sender, r.id, &r.refusal)
}
