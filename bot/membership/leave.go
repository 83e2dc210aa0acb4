package membership

import (
	"context"
	"fmt"
	"time"

	"matrix-tui/sandbox"
	"matrix-tui/state"
)

// left leaves the room if the bot is its only remaining member. If the room has a
// tombstone, that comes after the upgrade.
func (r *Room) left(ctx context.Context, row state.Event) error {
	if r.Upgrade.Moves() {
		return r.finish(ctx, row)
	}
	last, err := r.Roster.LeaveIfLast(ctx, r.Out.ID)
	if r.refused.Again("leave "+row.ID, err) {
		return err
	}
	if !last {
		return r.finish(ctx, row)
	}
	return r.gone(ctx, row)
}

// gone handles the bot's removal from the room: it ends the room's tasks, stops
// its container, drops the entry and closes its gateway. Volumes and history stay.
// While an upgrade waits, so does this: everything moves to the successor, or ends. The
// bot may be back then.
func (r *Room) gone(ctx context.Context, row state.Event) error {
	if r.Upgrade.Moves() {
		return nil
	}
	id, env := r.Out.ID, r.Turn.Env
	back, err := r.Roster.IsIn(ctx, id)
	if err != nil {
		return err
	}
	if t := r.Turn.Current(); back && t != nil && t.Seq() > row.Seq { // from after it came back
		if err := r.forget(ctx, row.Seq); err != nil {
			return err
		}
		return r.finish(ctx, row)
	}
	if back {
		defer env.Enter()
	}
	r.Turn.Abandon()
	if err := r.forget(ctx, row.Seq); err != nil { // before the next task starts
		return err
	}
	if err := env.Leave(func() error { return r.dropContainer(ctx) }); err != nil {
		return err
	}
	if err := env.Gateway.Shut(id); err != nil {
		r.Out.Group.Log.Warn().Err(err).Str("room", id).Msg("cannot close the room's gateway")
	}
	if err := env.GiveUpWaiting(ctx, row.Seq); err != nil {
		return err
	}
	return r.finish(ctx, row)
}

// dropContainer stops the room's container and drops its entry.
func (r *Room) dropContainer(ctx context.Context) error {
	id, env := r.Out.ID, r.Turn.Env
	name := env.Store.Containers.Of(id)
	if name == "" {
		return nil
	}
	call, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := env.Podman.Stop(call, name, id); err != nil && !sandbox.IsGone(err) {
		return fmt.Errorf("stop container %s: %w", name, err)
	}
	if err := env.Store.Containers.Drop(ctx, id); err != nil {
		return fmt.Errorf("drop container of %s: %w", id, err)
	}
	return nil
}

// forget finishes all of the room's events and tasks before seq.
func (r *Room) forget(ctx context.Context, seq int64) error {
	r.Turn.Lock()
	defer r.Turn.Unlock()
	r.Upgrade.Forget()
	if err := r.Out.Journal.Events.FinishUpTo(ctx, r.Out.ID, seq); err != nil {
		return fmt.Errorf("finish earlier events: %w", err)
	}
	if err := r.Out.Journal.Tasks.FinishUpTo(ctx, r.Out.ID, seq); err != nil {
		return fmt.Errorf("finish earlier tasks: %w", err)
	}
	return r.Out.Journal.Schedule.Leave(ctx, r.Out.ID)
}
