// Package membership handles what changes in the membership of a room: it accepts invitations and declines them,
// greets, gives strangers a pairing code, and leaves a room that nobody else is in. It starts and stops no tasks,
// except that all of them end when the bot is gone.
package membership

import (
	"context"
	"errors"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/outbox"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/presence"
	"matrix-tui/bot/roster"
	"matrix-tui/bot/text"
	"matrix-tui/bot/turn"
	"matrix-tui/bot/upgrade"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// Shared is what all rooms share.
type Shared struct {
	Roster  *roster.Roster
	Profile *presence.Profile
	Pairing *policy.Pairing
}

// Room is the membership of one room. It belongs to the goroutine that handles the room's events.
type Room struct {
	*Shared
	Out     *outbox.Room
	Turn    *turn.Turn
	Upgrade *upgrade.Room

	refused matrix.Refusals
}

// Do handles an event about who is in the room and finishes it. After an error it is called again.
func (r *Room) Do(ctx context.Context, row state.Event) error {
	switch row.Kind {
	case event.KindInvite:
		return absent(r.invite(ctx, row))
	case event.KindEntered:
		return r.greet(ctx, row)
	case event.KindJoined:
		return r.joined(ctx, row)
	case event.KindLeft:
		return r.left(ctx, row)
	case event.KindGone:
		return absent(r.gone(ctx, row))
	case event.KindStranger:
		return r.stranger(ctx, row)
	case event.KindInVain:
		return r.inVain(ctx, row)
	}
	return r.finish(ctx, row)
}

// AbsentError is an error about a room that the bot is not in, or is about to leave: nobody can be told there.
type AbsentError struct{ error }

func (e *AbsentError) Unwrap() error { return e.error }

func absent(err error) error {
	if err != nil {
		err = &AbsentError{err}
	}
	return err
}

func (r *Room) finish(ctx context.Context, row state.Event) error {
	return r.Out.Journal.Events.Finish(ctx, r.Out.ID, row.ID)
}

// Address explains how to give the bot a task in the room. alone says that it and one other person are the only
// members.
func (r *Room) Address(alone bool) string {
	return text.Address(r.Roster.Policy.Room(r.Out.ID).Reply.In(alone) == policy.MentionOnly, r.Profile.Name())
}

// greet greets a room that the bot has joined, or sends a pairing code if it is a direct chat with an unknown user.
func (r *Room) greet(ctx context.Context, row state.Event) error {
	id, env := r.Out.ID, r.Turn.Env
	if user := r.Stranger(); user != "" {
		row.Sender = user
		return r.stranger(ctx, row)
	}
	env.Enter()
	if _, err := r.Upgrade.Inherit(ctx); r.refused.Again("predecessor "+row.ID, err) {
		return err
	}
	alone, err := r.Roster.WillBeAlone(ctx, id)
	if err != nil {
		return err
	}
	if err := env.AskAgain(ctx); err != nil { // questions that moved here from the predecessor
		return err
	}
	m := r.Out.Notice(state.KindGreeting, state.KeyOf(row.Room, row.ID)+"-g", text.Greeting(r.Address(alone)))
	if err := r.Out.Reply(ctx, []state.Message{m}, row.ID); err != nil {
		return err
	}
	r.Out.Group.Start(func() {
		ctx := r.Out.Group.Context
		if before, err := r.Roster.Account.Rooms.Predecessor(ctx, id); err == nil && before == "" {
			env.Welcome(ctx)
		}
	})
	return nil
}

// joined tells a room, once, that a mention is needed from now on: a third person has joined.
func (r *Room) joined(ctx context.Context, row state.Event) error {
	id := r.Out.ID
	txn := state.Hash(id) + "-group"
	if _, err := r.Out.Journal.Messages.Get(ctx, txn); !errors.Is(err, state.ErrNotFound) {
		return errors.Join(err, r.finish(ctx, row))
	}
	alone, err := r.Roster.IsAlone(ctx, id)
	if err != nil {
		return err
	}
	members, _ := r.Roster.Joined.Of(id)
	if reply := r.Roster.Policy.Room(id).Reply; alone || members != 3 || reply.In(true) == reply.In(false) {
		return r.finish(ctx, row)
	}
	m := r.Out.Notice(state.KindReply, txn, "There are several of you now. "+r.Address(false)+" I ignore everything else.")
	return r.Out.Reply(ctx, []state.Message{m}, row.ID)
}
