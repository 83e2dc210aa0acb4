package upgrade

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"matrix-tui/bot/matrix"
	"matrix-tui/state"
)

// predecessor returns the room that this one replaces and that has not moved here yet,
// or "". Other rooms that claim to be its predecessor do not count: the room itself
// says which one is. The bot must be in the room.
func (r *Room) predecessor(ctx context.Context) (string, error) {
	claims := r.claims.into(r.ID)
	if len(claims) == 0 {
		return "", nil
	}
	call, cancel := context.WithTimeout(ctx, matrix.CallTimeout)
	defer cancel()
	before, err := r.Account.Rooms.Predecessor(call, r.ID)
	if err != nil {
		return "", fmt.Errorf("look up predecessor: %w", err)
	}
	if !slices.Contains(claims, before) {
		return "", nil
	}
	return before, nil
}

// Inherit gives the room, which the bot has just joined, the policy of the room that it
// replaces, and has all rooms that name this one as their successor look again. It returns
// the predecessor, or "".
func (r *Room) Inherit(ctx context.Context) (before string, err error) {
	for _, one := range r.claims.into(r.ID) {
		if old := r.known(one); old != nil {
			defer old.follow("")
		}
	}
	if before, err = r.predecessor(ctx); err != nil {
		return "", err
	}
	if before != "" {
		if err := r.giveOn(before, r.ID); err != nil {
			r.Group.Log.Warn().Err(err).Str("room", before).Str("successor", r.ID).Msg("the room's policy cannot move along")
		}
	}
	return before, nil
}

// MayFollow reports whether a user may use the bot in a room that claims to be the predecessor of this one.
func (r *Room) MayFollow(user string) bool {
	return slices.ContainsFunc(r.claims.into(r.ID), func(before string) bool { return r.Roster.Hears(before, user) })
}

// IsAhead reports whether the room still has to get workspace, history and tasks of its
// predecessor. Its own tasks wait for that, and the room is told.
func (r *Room) IsAhead(ctx context.Context) (bool, error) {
	before, err := r.predecessor(ctx)
	if err != nil {
		if in, failed := r.Roster.IsIn(ctx, r.ID); in || failed != nil {
			return false, errors.Join(err, failed)
		}
		return false, nil
	}
	if before == "" {
		return false, nil
	}
	if _, err := r.Journal.Tasks.Next(ctx, r.ID); err != nil {
		if errors.Is(err, state.ErrNotFound) {
			err = nil
		}
		return true, err
	}
	txn := state.Hash(r.ID+"\x00"+before) + "-ahead"
	if _, err := r.Journal.Messages.Get(ctx, txn); !errors.Is(err, state.ErrNotFound) {
		return true, err
	}
	m := r.Out.Notice(state.KindUpgrade, txn,
		"⏳ I'll start as soon as the tasks in the previous room are finished and its workspace is here.")
	return true, r.Out.Queue(ctx, m)
}

// HasFollowed reports whether the bot is in the room because of an upgrade.
func (r *Room) HasFollowed(ctx context.Context) (bool, error) {
	if len(r.claims.into(r.ID)) == 0 && len(r.Store.Predecessors(r.ID)) == 0 {
		return false, nil
	}
	return r.Roster.IsIn(ctx, r.ID)
}
