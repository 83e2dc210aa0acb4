package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"matrix-tui/state"
)

// predecessor returns the room that this one replaces and that has not moved here yet,
// or "". Other rooms that claim to be its predecessor do not count: the room itself
// says which one is. The bot must be in the room.
func (r *room) predecessor(ctx context.Context) (string, error) {
	claims := r.bot.upgrades.into(r.id)
	if len(claims) == 0 {
		return "", nil
	}
	before, known := r.bot.upgrades.replaces(r.id)
	if !known {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		var err error
		if before, err = r.bot.account.Rooms.Predecessor(call, r.id); err != nil {
			return "", fmt.Errorf("look up predecessor: %w", err)
		}
		r.bot.upgrades.learn(r.id, before)
	}
	if !slices.Contains(claims, before) {
		return "", nil
	}
	return before, nil
}

// inherit gives the room, which the bot has just joined, the policy of the room that it
// replaces, and has all rooms that name this one as their successor look again. It returns
// the predecessor, or "".
func (r *room) inherit(ctx context.Context) (before string, err error) {
	for _, one := range r.bot.upgrades.into(r.id) {
		defer r.bot.room(one).follow("")
	}
	if before, err = r.predecessor(ctx); err != nil {
		return "", err
	}
	if before != "" {
		if err := r.bot.room(before).giveOn(r.id); err != nil {
			r.bot.log.Warn().Err(err).Str("room", before).Str("successor", r.id).Msg("the room's policy cannot move along")
		}
	}
	return before, nil
}

// mayFollow reports whether a user who invites the bot here may use it in a room that
// claims to be the predecessor of this one.
func (r *room) mayFollow(user string) bool {
	return slices.ContainsFunc(r.bot.upgrades.into(r.id), func(before string) bool {
		return r.bot.mayUse(before, user, r.bot.roster.IsDirect(before)).Heard
	})
}

// isAhead reports whether the room still has to get workspace, history and tasks of its
// predecessor. Its own tasks wait for that, and the room is told.
func (r *room) isAhead(ctx context.Context) (bool, error) {
	before, err := r.predecessor(ctx)
	if err != nil {
		if in, failed := r.bot.roster.IsIn(ctx, r.id); in || failed != nil {
			return false, errors.Join(err, failed)
		}
		return false, nil
	}
	if before == "" {
		return false, nil
	}
	if _, err := r.bot.Journal.Tasks.Next(ctx, r.id); err != nil {
		if errors.Is(err, state.ErrNotFound) {
			err = nil
		}
		return true, err
	}
	txn := state.Hash(r.id+"\x00"+before) + "-ahead"
	if _, err := r.bot.Journal.Messages.Get(ctx, txn); !errors.Is(err, state.ErrNotFound) {
		return true, err
	}
	m := r.notice(state.KindUpgrade, txn, "⏳ I start as soon as the tasks in the previous room are finished and its workspace is here.")
	return true, r.queue(ctx, m)
}

// hasFollowed reports whether the bot is in the room because of an upgrade.
func (r *room) hasFollowed(ctx context.Context) (bool, error) {
	if len(r.bot.upgrades.into(r.id)) == 0 && len(r.bot.Store.Predecessors(r.id)) == 0 {
		return false, nil
	}
	return r.bot.roster.IsIn(ctx, r.id)
}

// upgradeOf implements [membership.Upgrade].
type upgradeOf struct{ *room }

// Lock is part of [membership.Upgrade].
func (r upgradeOf) Lock(ctx context.Context) (unlock func(), err error) {
	return r.bot.upgrades.entering.Lock(ctx, r.id)
}

// MayFollow is part of [membership.Upgrade].
func (r upgradeOf) MayFollow(user string) bool { return r.mayFollow(user) }

// HasFollowed is part of [membership.Upgrade].
func (r upgradeOf) HasFollowed(ctx context.Context) (bool, error) { return r.hasFollowed(ctx) }

// Settled is part of [membership.Upgrade].
func (r upgradeOf) Settled() { r.bot.upgrades.settled(r.id) }

// Inherit is part of [membership.Upgrade].
func (r upgradeOf) Inherit(ctx context.Context) (before string, err error) { return r.inherit(ctx) }

// Moves is part of [membership.Upgrade].
func (r upgradeOf) Moves() bool { return r.bot.upgrades.moves(r.id) }

// Forget is part of [membership.Upgrade].
func (r upgradeOf) Forget() { r.tombstone = nil }
