package upgrade

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

// Decide keeps a tombstone for the tasks worker. A newer one replaces an older one that is not being followed; one that
// names no successor ends that. The caller holds the turn.
func (r *Room) Decide(ctx context.Context, row state.Event) error {
	old := r.tombstone
	if old != nil && (r.Turn.Following || old.Seq >= row.Seq || r.hasLeftFor(old.Body.Successor)) {
		return nil // it is next
	}
	now, err := r.Journal.Events.Get(ctx, row.Room, row.ID)
	if err != nil || now.Status != state.Pending { // the room has moved meanwhile
		return err
	}
	r.claims.note(row) // nothing unless it names a successor
	if old != nil {
		if err := r.Turn.Finish(ctx, *old); err != nil {
			return err
		}
		r.tombstone = nil
		r.claims.end(*old)
		r.wake(old.Body.Successor)
	}
	r.endWait()
	if is(row) {
		r.tombstone = &row
		r.Turn.Wake()
		return nil
	}
	if err := r.Turn.Finish(ctx, row); err != nil {
		return err
	}
	r.leaveIfAlone()
	return nil
}

// hasLeftFor reports whether the room has begun to move to this successor: workspace and history are there.
func (r *Room) hasLeftFor(successor string) bool {
	return slices.Contains(r.Store.Predecessors(successor), r.ID)
}

// stopFollowing says that the tasks worker is done with the tombstone for now. Perhaps it has failed, and there is a
// newer one.
func (r *Room) stopFollowing() {
	r.Turn.Lock()
	r.Turn.Following = false
	r.Turn.Unlock()
	r.Control.Wake()
}

// Enter joins the room's successor, and gives it the room's own policy. entered says that the caller must call Move;
// otherwise the room stays as it is, for now: see wait.
func (r *Room) Enter(ctx context.Context, row state.Event) (entered bool, err error) {
	defer func() {
		if !entered {
			r.stopFollowing()
		}
	}()
	successor := row.Body.Successor
	call, cancel := context.WithTimeout(ctx, 2*matrix.CallTimeout)
	defer cancel()
	err = r.enter(call, successor, &r.refused)
	if err == nil {
		return true, nil
	}
	if errors.Is(err, errPlain) {
		if err := r.tellPlain(ctx, row); err != nil {
			return false, err
		}
	}
	log := r.Group.Log.Warn().Err(err).Str("room", r.ID).Str("successor", successor)
	switch {
	case errors.Is(err, errNoSuccessor):
		log.Msg("the room named in the tombstone does not replace this one: staying")
		return false, r.end(ctx, row, r.Turn.Finish)
	case r.hasLeftFor(successor):
		return false, err
	}
	log.Msg("cannot follow the upgrade yet")
	r.wait(ctx, row)
	return false, nil
}

// Move moves the container's volumes, the history, open tasks and unsent messages to the room's successor, next. The
// next task creates a container for the new room on the same volumes.
func (r *Room) Move(ctx context.Context, row state.Event, next *Room) error {
	defer r.stopFollowing()
	successor := row.Body.Successor
	call, cancel := context.WithTimeout(ctx, 2*matrix.CallTimeout)
	defer cancel()
	if user := r.Roster.Direct.User(r.ID); user != "" {
		if err := r.Roster.MarkDirect(ctx, user, successor, &r.refused); err != nil {
			return err
		}
	}
	if err := r.Turn.Env.Leave(func() error { return r.moveContainer(ctx, call, successor) }); err != nil {
		return err
	}
	crash.At("moving")
	return r.end(ctx, row, func(ctx context.Context, row state.Event) error { return r.moveRows(ctx, row, next) })
}

// end ends an upgrade by finish, which finishes its tombstone: the next one can be
// followed, what waited in the room is decided, and the tasks of the successor start.
func (r *Room) end(ctx context.Context, row state.Event, finish func(context.Context, state.Event) error) error {
	if err := finish(ctx, row); err != nil {
		return err
	}
	r.Turn.Lock()
	r.tombstone = nil
	r.Turn.Unlock()
	r.claims.end(row)
	r.wake(row.Body.Successor)
	r.leaveIfAlone()
	return nil
}

// leaveIfAlone leaves the room in the background if everybody else has left while an upgrade was pending.
func (r *Room) leaveIfAlone() {
	ctx := r.Group.Context
	r.Group.Start(func() {
		for again := retry.New(time.Second, time.Minute); ; {
			if _, err := r.Roster.LeaveIfLast(ctx, r.ID); !matrix.Temporary(err) || retry.Sleep(ctx, again.Next()) != nil {
				return
			}
		}
	})
}

// moveContainer removes the room's container, and gives its volumes, memory and history to the successor.
func (r *Room) moveContainer(ctx, call context.Context, successor string) error {
	if err := r.Turn.Env.Retire(call); err != nil {
		return err
	}
	if err := r.Gateway.Shut(r.ID); err != nil {
		r.Group.Log.Warn().Err(err).Str("room", r.ID).Msg("cannot close the room's gateway")
	}
	if err := r.Recall.Move(ctx, r.ID, successor); err != nil { // what it forgot must stay forgotten
		return err
	}
	if err := r.Store.MoveRoom(ctx, r.ID, successor); err != nil {
		return fmt.Errorf("move room: %w", err)
	}
	return nil
}

// moveRows moves unfinished events and tasks and unsent messages to the successor, finishes
// the tombstone, and asks open questions there. It may be repeated.
func (r *Room) moveRows(ctx context.Context, tombstone state.Event, next *Room) error {
	err := func() error {
		r.Turn.Lock()
		defer r.Turn.Unlock()
		return r.Journal.MoveRoom(ctx, r.ID, next.ID, adapter(next.ID), tombstone.ID)
	}()
	if err != nil {
		return fmt.Errorf("move rows: %w", err)
	}
	crash.At("moved")
	if err := r.Recall.Move(ctx, r.ID, next.ID); err != nil { // a cache
		r.Group.Log.Warn().Err(err).Str("room", r.ID).Msg("cannot move the index of a room")
	}
	r.Turn.Env.Waits.DropRoom(r.ID)
	if err := next.Turn.Env.AskAgain(ctx); err != nil {
		return err
	}
	next.Out.Wake()
	for _, other := range r.claims.endAll(r.ID) {
		r.wake(other)
	}
	return nil
}
