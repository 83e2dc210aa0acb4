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
	// errUnmoved means that the room's own policy cannot move to the successor.
	errUnmoved = errors.New("the policy cannot move to the successor")
)

// enter joins the room that a tombstone names and gives it this room's own policy. It
// returns errUninvited or errUnmoved while that is impossible, and errNoSuccessor,
// after leaving again, if that room does not name this one as its predecessor: a
// tombstone can name any room, and this room's content must not reach other people. What
// was encrypted does not move where the homeserver can read it, and speak as anybody.
func (r *Room) enter(ctx context.Context, successor string, refused *matrix.Refusals) error {
	if err := r.Policy.CanInherit(r.ID, successor); err != nil {
		return fmt.Errorf("%w: %w", errUnmoved, err)
	}
	in, err := r.Roster.IsIn(ctx, successor)
	if err != nil {
		return err
	}
	if err := r.Account.Rooms.Join(ctx, successor); err != nil {
		if matrix.Temporary(err) {
			return fmt.Errorf("join successor: %w", err)
		}
		return fmt.Errorf("%w: %w", errUninvited, err)
	}
	before, err := r.Account.Rooms.Predecessor(ctx, successor)
	if err != nil {
		return err
	}
	why := errNoSuccessor
	if before == r.ID {
		exposed, err := r.exposes(ctx, r.ID, successor)
		if err != nil {
			return err
		}
		if !exposed {
			if err := r.giveOn(r.ID, successor); err != nil { // before anybody is heard there
				return fmt.Errorf("%w: %w", errUnmoved, err)
			}
			return nil
		}
		before, why = "", errPlain
	}
	if in || slices.Contains(r.claims.into(successor), before) {
		return why // it is there for another reason, or the predecessor enters as well
	}
	_, err = r.Journal.Events.PendingType(ctx, successor, event.TypeInvite)
	if err == nil {
		return why // the invitation decides
	}
	if !errors.Is(err, state.ErrNotFound) {
		return err
	}
	if err := r.Account.Rooms.Leave(ctx, successor); refused.Again("leave "+successor, err) {
		return fmt.Errorf("leave room: %w", err)
	}
	return why
}

// exposes reports whether a room is encrypted and another one is not.
func (s *Shared) exposes(ctx context.Context, room, other string) (bool, error) {
	encrypted, err := s.Account.Keys.IsEncrypted(ctx, room)
	if errors.Is(err, matrix.ErrNoKeys) {
		return false, nil // it has not logged in yet, so it has no rooms
	}
	if err != nil || !encrypted {
		return false, err
	}
	encrypted, err = s.Account.Keys.IsEncrypted(ctx, other)
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
