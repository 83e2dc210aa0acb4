package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/text"
	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/state/retry"
)

const (
	callTimeout = matrix.CallTimeout
	inviteTime  = 24 * time.Hour // how long to retry a join if the room's server is unreachable
)

// notJoinedError is an error about a room that the bot is not in, so that it cannot
// report the error there.
type notJoinedError struct{ err error }

func (e *notJoinedError) Error() string { return e.err.Error() }
func (e *notJoinedError) Unwrap() error { return e.err }

// address explains how to give the bot a task in the room. alone says that it and one other person are the only members.
func (r *room) address(alone bool) string {
	return text.Address(r.bot.policy.Room(r.id).Reply.In(alone) == policy.MentionOnly, r.bot.profile.Name())
}

// doGreeting greets a room that the bot has joined, or sends a pairing code if it is
// a direct chat with an unknown user.
func (r *room) doGreeting(ctx context.Context, row state.Event) error {
	r.tellUnverified(row)
	if user := r.stranger(); user != "" {
		row.Sender = user
		return r.doStranger(ctx, row)
	}
	r.env.Enter()
	if _, err := r.inherit(ctx); r.refusal.Again("predecessor "+row.ID, err) {
		return err
	}
	alone, err := r.bot.roster.WillBeAlone(ctx, r.id)
	if err != nil {
		return err
	}
	if err := r.env.AskAgain(ctx); err != nil { // questions that moved here from the predecessor
		return err
	}
	if err := r.queue(ctx, r.notice(state.KindGreeting, state.KeyOf(row.Room, row.ID)+"-g", text.Greeting(r.address(alone)))); err != nil {
		return err
	}
	r.bot.work.Start(func() {
		r.describe(r.bot.ctx)
		if before, err := r.bot.account.Rooms.Predecessor(r.bot.ctx, r.id); err == nil && before == "" {
			r.env.Welcome(r.bot.ctx)
		}
	})
	return r.finish(ctx, row)
}

// doJoined tells a room, once, that a mention is needed from now on: a third person has joined.
func (r *room) doJoined(ctx context.Context, row state.Event) error {
	txn := state.Hash(r.id) + "-group"
	if _, err := r.bot.Journal.Messages.Get(ctx, txn); !errors.Is(err, state.ErrNotFound) {
		return errors.Join(err, r.finish(ctx, row))
	}
	alone, err := r.bot.roster.IsAlone(ctx, r.id)
	if err != nil {
		return err
	}
	members, _ := r.bot.roster.Joined.Of(r.id)
	if reply := r.bot.policy.Room(r.id).Reply; alone || members != 3 || reply.In(true) == reply.In(false) {
		return r.finish(ctx, row)
	}
	m := r.notice(state.KindReply, txn, "There are several of you now. "+r.address(false)+" I ignore everything else.")
	return r.reply(ctx, []state.Message{m}, row.ID)
}

// doLeft leaves the room if the bot is its only remaining member. If the room has a
// tombstone, that comes after the upgrade: see endUpgrade.
func (r *room) doLeft(ctx context.Context, row state.Event) error {
	if r.bot.upgrades.moves(r.id) {
		return r.finish(ctx, row)
	}
	last, err := r.bot.roster.LeaveIfLast(ctx, r.id)
	if r.refusal.Again("leave "+row.ID, err) {
		return err
	}
	if !last {
		return r.finish(ctx, row)
	}
	return r.doGone(ctx, row)
}

// doGone handles the bot's removal from the room: it ends the room's tasks, stops
// its container, drops the entry and closes its gateway. Volumes and history stay.
// While an upgrade waits, so does this: everything moves to the successor, or ends. The
// bot may be back then.
func (r *room) doGone(ctx context.Context, row state.Event) error {
	if r.bot.upgrades.moves(r.id) {
		return nil
	}
	back, err := r.bot.roster.IsIn(ctx, r.id)
	if err != nil {
		return &notJoinedError{err}
	}
	if t := r.turn.Current(); back && t != nil && t.Seq() > row.Seq {
		return errors.Join(r.forget(ctx, row.Seq), r.finish(ctx, row))
	}
	if back {
		defer r.env.Enter()
	}
	r.turn.Abandon()
	if err := r.forget(ctx, row.Seq); err != nil { // before the next task starts
		return err
	}
	if err := r.env.Leave(func() error { return r.dropContainer(ctx) }); err != nil {
		return err
	}
	if err := r.bot.Gateway.Shut(r.id); err != nil {
		r.bot.log.Warn().Err(err).Str("room", r.id).Msg("cannot close the room's gateway")
	}
	if err := r.env.GiveUpWaiting(ctx, row.Seq); err != nil {
		return err
	}
	return r.finish(ctx, row)
}

// leaveIfAlone leaves the room if the bot is its only member.
func (r *room) leaveIfAlone(ctx context.Context) {
	for again := retry.New(time.Second, time.Minute); ; {
		if _, err := r.bot.roster.LeaveIfLast(ctx, r.id); !matrix.Temporary(err) || retry.Sleep(ctx, again.Next()) != nil {
			return
		}
	}
}

// dropContainer stops the room's container and drops its entry.
func (r *room) dropContainer(ctx context.Context) error {
	name := r.bot.Store.Containers.Of(r.id)
	if name == "" {
		return nil
	}
	call, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := r.bot.Podman.Stop(call, name, r.id); err != nil && !sandbox.IsGone(err) {
		return fmt.Errorf("stop container %s: %w", name, err)
	}
	if err := r.bot.Store.Containers.Drop(ctx, r.id); err != nil {
		return fmt.Errorf("drop container of %s: %w", r.id, err)
	}
	return nil
}

// forget finishes all of the room's events and tasks before seq.
func (r *room) forget(ctx context.Context, seq int64) error {
	r.turn.Lock()
	defer r.turn.Unlock()
	r.tombstone = nil
	if err := r.bot.Journal.Events.FinishUpTo(ctx, r.id, seq); err != nil {
		return fmt.Errorf("finish earlier events: %w", err)
	}
	if err := r.bot.Journal.Tasks.FinishUpTo(ctx, r.id, seq); err != nil {
		return fmt.Errorf("finish earlier tasks: %w", err)
	}
	return nil
}
