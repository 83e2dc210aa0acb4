package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/text"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/retry"
	"matrix-tui/state/sentence"
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
func (r *room) enter(ctx context.Context, successor string, refused *matrix.Refusals) error {
	if before, known := r.bot.upgrades.replaces(successor); known && before != r.id {
		return errNoSuccessor
	}
	if err := r.bot.policy.CanInherit(r.id, successor); err != nil {
		return &ownPolicyError{err}
	}
	unlock, err := r.bot.upgrades.entering.Lock(ctx, successor)
	if err != nil {
		return err
	}
	defer unlock()
	in, err := r.bot.roster.IsIn(ctx, successor)
	if err != nil {
		return err
	}
	if !in {
		r.bot.upgrades.enter(successor)
	}
	if err := r.bot.account.Rooms.Join(ctx, successor); err != nil {
		if matrix.Temporary(err) {
			return fmt.Errorf("join successor: %w", err)
		}
		r.bot.upgrades.settled(successor)
		return fmt.Errorf("%w: %w", errUninvited, err)
	}
	before, err := r.bot.account.Rooms.Predecessor(ctx, successor)
	if err != nil {
		return err
	}
	why := errNoSuccessor
	if before == r.id {
		exposed, err := r.exposedBy(ctx, successor)
		if err != nil {
			return err
		}
		if exposed {
			before, why = "", errPlain
		}
	}
	if before == r.id {
		r.bot.upgrades.learn(successor, before)
		r.bot.upgrades.settled(successor)
		if err := r.giveOn(successor); err != nil { // before anybody is heard there
			return &ownPolicyError{err}
		}
		return nil
	}
	_, err = r.bot.Journal.Events.PendingType(ctx, successor, event.TypeInvite)
	if err != nil && !errors.Is(err, state.ErrNotFound) {
		return err
	}
	if err == nil || slices.Contains(r.bot.upgrades.into(successor), before) {
		r.bot.upgrades.settled(successor) // doInvite decides, or the predecessor enters as well
	}
	if r.bot.upgrades.hasEntered(successor) {
		if err := r.bot.account.Rooms.Leave(ctx, successor); refused.Again("leave "+successor, err) {
			return fmt.Errorf("leave room: %w", err)
		}
		r.bot.upgrades.settled(successor)
	}
	if !errors.Is(why, errPlain) { // that is found out again, so that the room is told
		r.bot.upgrades.learn(successor, before)
	}
	return why
}

// exposedBy reports whether this room is encrypted and another one is not.
func (r *room) exposedBy(ctx context.Context, other string) (bool, error) {
	encrypted, err := r.bot.account.Keys.IsEncrypted(ctx, r.id)
	if errors.Is(err, matrix.ErrNoKeys) {
		return false, nil // it has not logged in yet, so it has no rooms
	}
	if err != nil || !encrypted {
		return false, err
	}
	encrypted, err = r.bot.account.Keys.IsEncrypted(ctx, other)
	return !encrypted, err
}

// tellPlain tells the room and the owners that the bot does not follow a tombstone to a room that is not encrypted.
func (r *room) tellPlain(ctx context.Context, tombstone state.Event) error {
	txn := state.KeyOf(tombstone.Room, tombstone.ID) + "-plain"
	if _, err := r.bot.Journal.Messages.Get(ctx, txn); !errors.Is(err, state.ErrNotFound) {
		return err
	}
	r.bot.watch.Note("⚠️ Room " + text.Code(r.id) + " is encrypted, and was replaced by " + text.Code(tombstone.Body.Successor) + ", which is not. I stay in the old one.")
	return r.queue(ctx, r.notice(state.KindUpgrade, txn, "⚠️ This room was replaced by one that is not encrypted, so I stay here. Replace it with an encrypted one, and I will bring the workspace and the history along."))
}

// giveOn gives the room's own policy to its successor, and tells the owners.
func (r *room) giveOn(successor string) error {
	inherited, err := r.bot.policy.Inherit(r.id, successor)
	if inherited {
		r.bot.watch.Note("Room " + text.Code(r.id) + " was upgraded to " + text.Code(successor) + ". I copied its entry in policy.yaml, so that the same rules apply there.")
	}
	return err
}

// wait lets a tombstone wait until it can be followed, unless there is a newer one.
// Meanwhile nothing moves and the room goes on: the homeserver shows only members which
// room the successor replaces.
func (r *room) wait(ctx context.Context, tombstone state.Event) {
	ctx, stop := context.WithCancel(ctx)
	r.turn.Lock()
	defer r.turn.Unlock()
	r.stopWaiting = stop
	r.outbox.Stays.Store(true)
	if !r.bot.work.Start(func() { defer stop(); r.await(ctx, tombstone) }) {
		stop()
	}
}

// await tries again and again to enter the successor, and has the tasks worker follow
// then. One refusal proves nothing; after half a minute the owners and the room are told.
func (r *room) await(ctx context.Context, tombstone state.Event) {
	var refused matrix.Refusals // the tasks worker has its own
	begun, told := time.Now(), false
	for again := retry.New(time.Second, time.Hour); ctx.Err() == nil; {
		call, cancel := context.WithTimeout(ctx, 2*callTimeout)
		err := r.enter(call, tombstone.Body.Successor, &refused)
		cancel()
		if err == nil || errors.Is(err, errNoSuccessor) {
			r.follow(tombstone.ID)
			return
		}
		pause := again.Next()
		if !errors.Is(err, errUninvited) { // the homeserver is in trouble, or policy.yaml can be corrected at any time
			pause = min(pause, matrix.RefusedTime)
		}
		if unmoved := (*ownPolicyError)(nil); errors.As(err, &unmoved) {
			r.tellStaying(tombstone.Body.Successor, unmoved)
		}
		if errors.Is(err, errUninvited) && !told {
			if time.Since(begun) >= matrix.RefusedTime {
				err := r.tellUninvited(ctx, tombstone)
				if told = err == nil; !told && ctx.Err() == nil {
					r.bot.log.Warn().Err(err).Str("room", r.id).Msg("cannot tell the room that its upgrade waits")
				}
			}
			pause = min(pause, matrix.RefusedTime/3)
		}
		if retry.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// follow has the tasks worker follow a tombstone that waits; "" stands for any.
func (r *room) follow(tombstone string) {
	r.turn.Lock()
	defer r.turn.Unlock()
	if r.tombstone == nil || tombstone != "" && r.tombstone.ID != tombstone {
		return
	}
	r.endWait()
	r.turn.Wake()
}

// endWait ends what wait has begun. The caller holds r.turn.
func (r *room) endWait() {
	if r.stopWaiting != nil {
		r.stopWaiting()
		r.stopWaiting = nil
		r.outbox.Stays.Store(false)
	}
}

// tellStaying tells the owners, once, that the bot does not follow an upgrade because the
// room's own policy would not apply in the successor.
func (r *room) tellStaying(successor string, why error) {
	r.mu.Lock()
	told := r.stays
	r.stays = true
	r.mu.Unlock()
	if told {
		return
	}
	r.bot.watch.Note("⚠️ Room " + text.Code(r.id) + " was upgraded to " + text.Code(successor) +
		", but its policy cannot move along, so I stay in the old room: " + sentence.Text(why) +
		" Fix policy.yaml, or add an entry for the new room by hand; I keep trying.")
}

// tellUninvited tells the room that the bot needs an invite to the successor, once per
// tombstone, and the owners, once a day. In the room it may no longer be allowed to.
func (r *room) tellUninvited(ctx context.Context, tombstone state.Event) error {
	txn := state.KeyOf(tombstone.Room, tombstone.ID) + "-uninvited"
	if _, err := r.bot.Journal.Messages.Get(ctx, txn); !errors.Is(err, state.ErrNotFound) {
		return err
	}
	out := r.notice(state.KindUpgrade, txn, "⚠️ This room was replaced, and I am not allowed into the new one. Invite me there, and I bring workspace and history along.")
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if may, err := r.bot.account.Rooms.MaySend(call, r.id, event.TypeMessage); err != nil && matrix.Temporary(err) {
		return err
	} else if !may {
		out.Status, out.Error = state.Refused, "not allowed to speak in the room"
	}
	if err := r.queue(ctx, out); err != nil {
		return err
	}
	r.mu.Lock()
	quiet := time.Since(r.uninvited) < 24*time.Hour
	r.uninvited = time.Now()
	r.mu.Unlock()
	if !quiet {
		r.bot.watch.Note("⚠️ Room " + text.Code(r.id) + " was upgraded to " + text.Code(tombstone.Body.Successor) +
			", but I am not allowed into that room. I stay in the old one until somebody invites me.")
	}
	return nil
}
