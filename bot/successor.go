package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"matrix-tui/bot/crash"
	"matrix-tui/bot/matrix"
	"matrix-tui/state"
	"matrix-tui/state/retry"
)

// noteTombstone keeps a tombstone for the tasks worker. A newer one replaces an older one
// that is not being followed. The caller holds r.turn.
func (r *room) noteTombstone(ctx context.Context, row state.Event) error {
	old := r.tombstone
	if old != nil && (r.turn.Following || r.leaving || old.Seq >= row.Seq || r.hasLeftFor(old.Body.Successor)) {
		return nil // it is next
	}
	now, err := r.bot.Journal.Events.Get(ctx, row.Room, row.ID)
	if err != nil || now.Status != state.Pending { // the room has moved meanwhile
		return err
	}
	if old != nil {
		if err := r.finish(ctx, *old); err != nil {
			return err
		}
	}
	r.bot.upgrades.note(row)
	r.endWait()
	r.tombstone = &row
	r.turn.Wake()
	if old != nil {
		r.bot.upgrades.end(*old)
		r.bot.wakeKnown(old.Body.Successor)
	}
	return nil
}

// hasLeftFor reports whether the room has begun to move to this successor: workspace and history are there.
func (r *room) hasLeftFor(successor string) bool {
	return slices.Contains(r.bot.Store.Predecessors(successor), r.id)
}

// stopFollowing says that the tasks worker is done with the tombstone for now. Perhaps it has failed, and there is a newer one.
func (r *room) stopFollowing() {
	r.turn.Lock()
	r.turn.Following = false
	r.turn.Unlock()
	r.control.Wake()
}

// doTombstone moves to the room's successor with the room's own policy, the container's
// volumes, the history, open tasks and unsent messages. The next task creates a container for the
// new room on the same volumes. Nothing moves before the bot is in the successor: see wait.
func (r *room) doTombstone(ctx context.Context, row state.Event) error {
	if !isUpgrade(row) {
		return r.endUpgrade(ctx, row, r.finish)
	}
	successor := row.Body.Successor
	call, cancel := context.WithTimeout(ctx, 2*callTimeout)
	defer cancel()
	err := r.enter(call, successor, &r.moved)
	if errors.Is(err, errPlain) {
		if err := r.tellPlain(ctx, row); err != nil {
			return err
		}
	}
	if errors.Is(err, errNoSuccessor) {
		r.bot.log.Warn().Str("room", r.id).Str("successor", successor).Err(err).Msg("the room named in the tombstone does not replace this one: staying")
		return r.endUpgrade(ctx, row, r.finish)
	} else if err != nil && r.hasLeftFor(successor) {
		return err
	} else if err != nil {
		r.bot.log.Warn().Err(err).Str("room", r.id).Str("successor", successor).Msg("cannot follow the upgrade yet")
		r.wait(ctx, row)
		return nil
	}
	if user := r.bot.roster.Direct.User(r.id); user != "" {
		if err := r.bot.roster.MarkDirect(ctx, user, successor, &r.moved); err != nil {
			return err
		}
	}
	r.turn.Lock()
	r.leaving = true
	r.turn.Unlock()
	if err := r.env.Leave(func() error { return r.moveContainer(ctx, call, successor) }); err != nil {
		return err
	}
	crash.At("moving")
	return r.endUpgrade(ctx, row, r.moveRows)
}

// endUpgrade ends an upgrade by end, which finishes its tombstone: the next one can be
// followed, what waited in the room is decided, and the tasks of the successor start.
func (r *room) endUpgrade(ctx context.Context, row state.Event, end func(context.Context, state.Event) error) error {
	if err := end(ctx, row); err != nil {
		return err
	}
	r.turn.Lock()
	r.tombstone, r.leaving = nil, false
	r.turn.Unlock()
	r.bot.upgrades.end(row)
	r.bot.wakeKnown(row.Body.Successor)
	r.bot.work.Start(func() { r.leaveIfAlone(r.bot.ctx) }) // if everybody has left meanwhile
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

// moveRows moves unfinished events and tasks and unsent messages to the successor, finishes
// the tombstone, and asks open questions there. It may be repeated.
func (r *room) moveRows(ctx context.Context, tombstone state.Event) error {
	next := r.bot.room(tombstone.Body.Successor)
	err := func() error {
		r.turn.Lock()
		defer r.turn.Unlock()
		return r.bot.Journal.MoveRoom(ctx, r.id, next.id, adapter(next.id), tombstone.ID)
	}()
	if err != nil {
		return fmt.Errorf("move rows: %w", err)
	}
	crash.At("moved")
	r.bot.waits.DropRoom(r.id)
	if err := next.env.AskAgain(ctx); err != nil {
		return err
	}
	next.outbox.Wake()
	for _, other := range r.bot.upgrades.endAll(r.id) {
		r.bot.wakeKnown(other)
	}
	return nil
}

// leaveIfAlone leaves the room if the bot is its only member.
func (r *room) leaveIfAlone(ctx context.Context) {
	for again := retry.New(time.Second, time.Minute); ; {
		if _, err := r.bot.roster.LeaveIfLast(ctx, r.id); !matrix.Temporary(err) || retry.Sleep(ctx, again.Next()) != nil {
			return
		}
	}
}
