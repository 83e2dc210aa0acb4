package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"matrix-tui/bot/crash"
	"matrix-tui/bot/matrix"
	"matrix-tui/bot/text"
	"matrix-tui/state"
	"matrix-tui/state/retry"
	"matrix-tui/state/sentence"
)

// doTombstone moves to the room's successor with the room's own policy, the container's
// volumes, the history, open tasks and unsent messages. The next task creates a container for the
// new room on the same volumes.
func (r *room) doTombstone(ctx context.Context, row state.Event) error {
	successor := row.Body.Successor
	if successor == "" || successor == r.id {
		return r.finish(ctx, row)
	}
	if err := r.bot.policy.CanInherit(r.id, successor); err != nil {
		return r.staying(successor, err)
	}
	call, cancel := context.WithTimeout(ctx, 2*callTimeout)
	defer cancel()
	joined, err := r.enterSuccessor(call, successor, &r.moved)
	if errors.Is(err, errNoSuccessor) {
		r.bot.log.Warn().Str("room", r.id).Str("successor", successor).Msg("the room named in the tombstone does not name this one as its predecessor: staying")
		return r.finish(ctx, row)
	}
	if err != nil {
		return err
	}
	inherited, err := r.bot.policy.Inherit(r.id, successor) // before anybody is heard there
	if err != nil {
		return r.staying(successor, err)
	}
	if inherited {
		r.bot.note("Room " + text.Code(r.id) + " was upgraded to " + text.Code(successor) + ". I copied its entry in policy.yaml, so that the same rules apply there.")
	}
	if user := r.bot.direct.User(r.id); user != "" {
		if err := r.bot.markDirect(ctx, user, successor, &r.moved); err != nil {
			return err
		}
	}
	if err := r.env.Leave(func() error { return r.moveContainer(ctx, call, successor) }); err != nil {
		return err
	}
	crash.At("moving")
	if err := r.moveRows(ctx, row, successor); err != nil {
		return err
	}
	crash.At("moved")
	r.bot.waits.DropRoom(r.id)
	next := r.bot.room(successor)
	if !joined { // perhaps by an invite meanwhile; else doGreeting continues
		var err error // the rows have moved: wait for the homeserver instead of starting over
		for joined, err = r.bot.isIn(ctx, successor); err != nil; joined, err = r.bot.isIn(ctx, successor) {
			if retry.Sleep(ctx, time.Second) != nil {
				return err
			}
		}
	}
	if joined {
		if err := next.env.AskAgain(ctx); err != nil {
			return err
		}
		next.outbox.Wake()
	} else {
		r.bot.start(func() { r.joinLater(ctx, successor) })
	}
	next.wake()
	return nil
}

// joinLater goes on joining the successor for a while, because one refusal proves nothing: doGreeting continues.
func (r *room) joinLater(ctx context.Context, successor string) {
	var refused refusal // the tasks worker has its own
	for again := retry.New(time.Second, 10*time.Second).Until(time.Now().Add(refusedTime)); ; {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		joined, err := r.enterSuccessor(call, successor, &refused)
		cancel()
		if joined || errors.Is(err, errNoSuccessor) || again.Wait(ctx, errNoSuccessor) != nil {
			return
		}
	}
}

// moveContainer removes the room's container, and gives its volumes, memory and history to the successor.
func (r *room) moveContainer(ctx, call context.Context, successor string) error {
	if err := r.env.Retire(call); err != nil {
		return err
	}
	if err := r.bot.Gateway.Shut(r.id); err != nil {
		r.bot.log.Warn().Err(err).Str("room", r.id).Msg("cannot close the room's gateway")
	}
	if err := r.bot.Recall.Move(ctx, r.id, successor); err != nil { // what it forgot must stay forgotten
		return err
	}
	if err := r.bot.Store.MoveRoom(ctx, r.id, successor); err != nil {
		return fmt.Errorf("move room: %w", err)
	}
	return nil
}

// staying tells the owners, once, that the bot does not follow an upgrade because the
// room's own policy would not apply in the successor. It returns an error, so that the
// upgrade is tried again.
func (r *room) staying(successor string, why error) error {
	if !r.stays {
		r.stays = true
		r.bot.note("⚠️ Room " + text.Code(r.id) + " was upgraded to " + text.Code(successor) +
			", but its policy cannot move along, so I stay in the old room: " + sentence.Text(why) +
			" Fix policy.yaml, or add an entry for the new room by hand; I keep trying.")
	}
	return fmt.Errorf("move policy to successor: %w", why)
}

// moveRows moves unfinished events and tasks and unsent messages to the successor
// and finishes the tombstone.
func (r *room) moveRows(ctx context.Context, tombstone state.Event, to string) error {
	r.decisions.Lock()
	defer r.decisions.Unlock()
	if err := r.bot.Journal.MoveRoom(ctx, r.id, to, adapter(to), tombstone.ID); err != nil {
		return fmt.Errorf("move rows: %w", err)
	}
	return nil
}

// errNoSuccessor means that the room in a tombstone does not name this room as its
// predecessor.
var errNoSuccessor = errors.New("not a successor of this room")

// enterSuccessor joins the room that a tombstone names; joined is false while the
// homeserver does not permit it. It returns errNoSuccessor, after leaving again,
// if the room does not name this one as its predecessor: a tombstone can name any
// room, and this room's content must not reach other people.
func (r *room) enterSuccessor(ctx context.Context, successor string, refused *refusal) (joined bool, err error) {
	was, err := r.bot.isIn(ctx, successor)
	if err != nil {
		return false, err
	}
	if err := r.bot.account.Join(ctx, successor); err != nil {
		if matrix.Temporary(err) {
			return false, fmt.Errorf("join successor: %w", err)
		}
		r.bot.log.Warn().Err(err).Str("room", r.id).Str("successor", successor).Msg("cannot join the successor yet, waiting for an invite")
		return false, nil
	}
	before, err := r.bot.account.Predecessor(ctx, successor)
	if err != nil || before == r.id {
		return err == nil, err
	}
	if !was {
		if err := r.bot.account.Leave(ctx, successor); refused.again("leave "+successor, err) {
			return false, fmt.Errorf("leave room: %w", err)
		}
	}
	return false, errNoSuccessor
}
