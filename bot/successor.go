package bot

import (
	"context"
	"errors"
	"fmt"
	"math"

	"matrix-tui/bot/crash"
	"matrix-tui/bot/text"
	"matrix-tui/state"
	"matrix-tui/state/sentence"
)

// doTombstone moves to the room's successor with the room's own policy, the container's
// volumes, the history, open tasks and unsent messages. The next task creates a container for the
// new room on the same volumes. Nothing moves while the bot may not enter the successor:
// see await.
func (r *room) doTombstone(ctx context.Context, row state.Event) error {
	if !isUpgrade(row) {
		return r.endUpgrade(ctx, row, r.finish)
	}
	successor := row.Body.Successor
	if err := r.bot.policy.CanInherit(r.id, successor); err != nil {
		return r.staying(successor, err)
	}
	call, cancel := context.WithTimeout(ctx, 2*callTimeout)
	defer cancel()
	joined, err := r.enterSuccessor(call, successor, &r.moved)
	if errors.Is(err, errNoSuccessor) {
		r.bot.log.Warn().Str("room", r.id).Str("successor", successor).Msg("the room named in the tombstone does not name this one as its predecessor: staying")
		return r.stay(call, row)
	}
	if err != nil {
		return err
	}
	if !joined {
		r.decisions.Lock()
		r.uninvited = true
		r.decisions.Unlock()
		r.control.Wake() // a newer tombstone replaces this one
		r.bot.start(func() { r.await(ctx, row) })
		return nil
	}
	if err := r.giveOn(successor); err != nil { // before anybody is heard there
		return r.staying(successor, err)
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
	if err := r.endUpgrade(ctx, row, r.moveRows); err != nil {
		return err
	}
	crash.At("moved")
	r.bot.waits.DropRoom(r.id)
	next := r.bot.room(successor)
	if err := next.env.AskAgain(ctx); err != nil {
		return err
	}
	next.outbox.Wake()
	next.wake()
	return nil
}

// giveOn gives the room's own policy to its successor, and tells the owners.
func (r *room) giveOn(successor string) error {
	inherited, err := r.bot.policy.Inherit(r.id, successor)
	if inherited {
		r.bot.note("Room " + text.Code(r.id) + " was upgraded to " + text.Code(successor) + ". I copied its entry in policy.yaml, so that the same rules apply there.")
	}
	return err
}

// stay ends an upgrade that does not lead to a successor. If the bot has been removed from
// the room meanwhile, everything that waited for the new room ends: see doGone.
func (r *room) stay(ctx context.Context, row state.Event) error {
	in, err := r.bot.isIn(ctx, r.id)
	if err != nil {
		return err
	}
	if in {
		return r.endUpgrade(ctx, row, r.finish)
	}
	return r.endUpgrade(ctx, row, func(ctx context.Context, row state.Event) error {
		row.Seq = math.MaxInt64 // with all that came later
		return r.end(ctx, row)
	})
}

// endUpgrade ends an upgrade by end, which finishes its tombstone: the next one can be
// followed, and the tasks of the successor start.
func (r *room) endUpgrade(ctx context.Context, row state.Event, end func(context.Context, state.Event) error) error {
	if err := end(ctx, row); err != nil {
		return err
	}
	r.decisions.Lock()
	r.tombstone = nil
	r.decisions.Unlock()
	r.bot.upgrades.end(r.id, row.Body.Successor)
	r.control.Wake() // there may be another one
	if isUpgrade(row) {
		r.bot.room(row.Body.Successor).wake()
	}
	return nil
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
func (r *room) moveRows(ctx context.Context, tombstone state.Event) error {
	to := tombstone.Body.Successor
	r.decisions.Lock()
	defer r.decisions.Unlock()
	if err := r.bot.Journal.MoveRoom(ctx, r.id, to, adapter(to), tombstone.ID); err != nil {
		return fmt.Errorf("move rows: %w", err)
	}
	return nil
}

// noteTombstone keeps a tombstone for the tasks worker. A newer one replaces one that
// waits for an invite. The caller holds r.decisions.
func (r *room) noteTombstone(ctx context.Context, row state.Event) error {
	if old := r.tombstone; old != nil {
		if !r.uninvited || old.Seq >= row.Seq {
			return nil // it is next
		}
		if err := r.finish(ctx, *old); err != nil {
			return err
		}
		r.bot.upgrades.end(r.id, old.Body.Successor)
		r.bot.room(old.Body.Successor).wake()
	}
	r.bot.upgrades.note(row)
	r.tombstone, r.uninvited = &row, false
	r.tasks.Wake()
	return nil
}
