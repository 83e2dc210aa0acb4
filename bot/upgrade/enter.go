package upgrade

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/text"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

var (
	// errNoSuccessor means that the room in a tombstone does not name this room as its
	// predecessor.
	errNoSuccessor = errors.New("not a successor of this room")
	// errPlain is errNoSuccessor: the room in a tombstone is not encrypted although this
	// one is.
	errPlain = fmt.Errorf("%w: it is not encrypted", errNoSuccessor)
	// errUninvited means that the homeserver does not let the bot into the successor.
	errUninvited = errors.New("not allowed into the successor")
)

// ownPolicyError means that the room's own policy cannot move to the successor.
type ownPolicyError struct{ error }

func (e *ownPolicyError) Unwrap() error { return e.error }

// enter joins the room that a tombstone names and gives it this room's own policy. It
// returns errUninvited or *ownPolicyError while that is impossible, and errNoSuccessor,
// after leaving again, if that room does not name this one as its predecessor: a
// tombstone can name any room, and this room's content must not reach other people. What
// was encrypted does not move where the homeserver can read it, and speak as anybody.
func (r *Room) enter(ctx context.Context, successor string, refused *matrix.Refusals) error {
	if before, known := r.claims.replaces(successor); known && before != r.ID {
		return errNoSuccessor
	}
	if err := r.Policy.CanInherit(r.ID, successor); err != nil {
		return &ownPolicyError{err}
	}
	unlock, err := r.claims.entering.Lock(ctx, successor)
	if err != nil {
		return err
	}
	defer unlock()
	in, err := r.Roster.IsIn(ctx, successor)
	if err != nil {
		return err
	}
	if !in {
		r.claims.enter(successor)
	}
	if err := r.Account.Rooms.Join(ctx, successor); err != nil {
		if matrix.Temporary(err) {
			return fmt.Errorf("join successor: %w", err)
		}
		r.claims.settled(successor)
		return fmt.Errorf("%w: %w", errUninvited, err)
	}
	before, err := r.Account.Rooms.Predecessor(ctx, successor)
	if err != nil {
		return err
	}
	why := errNoSuccessor
	if before == r.ID {
		exposed, err := r.exposedBy(ctx, successor)
		if err != nil {
			return err
		}
		if exposed {
			before, why = "", errPlain
		}
	}
	if before == r.ID {
		r.claims.learn(successor, before)
		r.claims.settled(successor)
		if err := r.giveOn(r.ID, successor); err != nil { // before anybody is heard there
			return &ownPolicyError{err}
		}
		return nil
	}
	_, err = r.Journal.Events.PendingType(ctx, successor, event.TypeInvite)
	if err != nil && !errors.Is(err, state.ErrNotFound) {
		return err
	}
	if err == nil || slices.Contains(r.claims.into(successor), before) {
		r.claims.settled(successor) // the invitation decides, or the predecessor enters as well
	}
	if r.claims.hasEntered(successor) {
		if err := r.Account.Rooms.Leave(ctx, successor); refused.Again("leave "+successor, err) {
			return fmt.Errorf("leave room: %w", err)
		}
		r.claims.settled(successor)
	}
	if !errors.Is(why, errPlain) { // that is found out again, so that the room is told
		r.claims.learn(successor, before)
	}
	return why
}

// exposedBy reports whether this room is encrypted and another one is not.
func (r *Room) exposedBy(ctx context.Context, other string) (bool, error) {
	encrypted, err := r.Account.Keys.IsEncrypted(ctx, r.ID)
	if errors.Is(err, matrix.ErrNoKeys) {
		return false, nil // it has not logged in yet, so it has no rooms
	}
	if err != nil || !encrypted {
		return false, err
	}
	encrypted, err = r.Account.Keys.IsEncrypted(ctx, other)
	return !encrypted, err
}

// giveOn gives a room's own policy to its successor, and tells the owners.
func (s *Shared) giveOn(room, successor string) error {
	inherited, err := s.Policy.Inherit(room, successor)
	if inherited {
		s.Alerts.Note("Room " + text.Code(room) + " was upgraded to " + text.Code(successor) +
			". I copied its entry in policy.yaml, so that the same rules apply there.")
	}
	return err
}

// Lock waits until no upgrade joins or leaves this room, and lets none do that until unlock.
func (r *Room) Lock(ctx context.Context) (unlock func(), err error) {
	return r.claims.entering.Lock(ctx, r.ID)
}

// Settled says that the bot stays in this room, whatever it replaces.
func (r *Room) Settled() { r.claims.settled(r.ID) }
