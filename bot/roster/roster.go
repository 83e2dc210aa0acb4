// Package roster knows who is in which room, as far as the bot needs it: which rooms are direct chats, how many members
// a room has, whether the bot is one of them, and who may use it there. It asks the homeserver for what it does not
// know.
package roster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot/matrix"
	"matrix-tui/state/event"
	"matrix-tui/state/retry"
	"matrix-tui/state/sentence"
)

// Roster is the rooms and people of one account.
type Roster struct {
	Access
	Account *matrix.Account
	Log     zerolog.Logger
	Direct  Directs
	Joined  Cache[int] // number of members, the bot included
	Invited Cache[int] // number of members who have not joined yet

	members Cache[map[string]bool] // who has joined, and who has not, of those about whom somebody has asked
	names   Cache[string]
}

// Load fetches the list of direct chats and retries until the homeserver returns it, or says that there is none.
// Afterwards /sync reports changes only. A list that makes no sense counts as none.
func (r *Roster) Load(ctx context.Context) error {
	for again := retry.New(time.Second, 30*time.Second); ; {
		call, cancel := context.WithTimeout(ctx, matrix.CallTimeout)
		users, err := r.Account.Rooms.Direct(call)
		cancel()
		switch {
		case err == nil:
			r.Direct.Take(users)
			return nil
		case matrix.IsNotFound(err):
			return nil
		case matrix.IsUnknownToken(err):
			if err := r.Account.Login(ctx); err != nil {
				return err
			}
		case !matrix.Transient(err) && !matrix.IsAnswer(err):
			r.Log.Warn().Err(err).Msg("cannot read direct chats")
			return nil
		}
		r.Log.Warn().Err(err).Msg("cannot read direct chats, retrying")
		if err := again.Wait(ctx, err); err != nil {
			return err
		}
	}
}

// IsDirect reports whether a room is a direct chat.
func (r *Roster) IsDirect(room string) bool { return r.Direct.User(room) != "" }

// MarkDirect adds a room to the direct chats with a user. If the homeserver goes on refusing that, or will never accept
// it, only this process knows.
func (r *Roster) MarkDirect(ctx context.Context, user, room string, refused *matrix.Refusals) error {
	users, changed := r.Direct.With(user, room)
	if !changed {
		return nil
	}
	call, cancel := context.WithTimeout(ctx, matrix.CallTimeout)
	defer cancel()
	if err := r.Account.Rooms.SetDirect(call, users); refused.Again("direct "+room, err) {
		return sentence.New(fmt.Errorf("store direct chat: %w", err),
			"The homeserver does not let me note that this is a direct chat.")
	} else if err != nil {
		r.Log.Warn().Err(err).Str("room", room).Msg("cannot store the list of direct chats")
	}
	r.Direct.Take(users)
	return nil
}

// Note forgets the numbers that a batch may have changed, and takes its list of direct chats.
func (r *Roster) Note(batch *matrix.Sync) {
	if batch.Direct != nil {
		r.Direct.Take(batch.Direct)
	}
	for room, joined := range batch.Joined {
		changed, renamed := joined.Limited, joined.Limited
		for _, e := range slices.Concat(joined.State, joined.Timeline) {
			changed = changed || e.Type == event.TypeMember
			renamed = renamed || e.Type == event.TypeName
		}
		if changed {
			r.forget(room)
		}
		if renamed {
			r.names.Forget(room)
		}
	}
	for _, room := range batch.Left {
		r.forget(room)
	}
}

func (r *Roster) forget(room string) {
	r.Joined.Forget(room)
	r.Invited.Forget(room)
	r.members.Forget(room)
}

// MayBeAlone reports whether the bot and one other person may be a room's only members. It makes no request: if the
// number is not known, the answer is true.
func (r *Roster) MayBeAlone(room string) bool {
	members, known := r.Joined.Of(room)
	return !known || members == 2
}

// IsAlone reports whether the bot and one other person are a room's only members.
func (r *Roster) IsAlone(ctx context.Context, room string) (bool, error) {
	members, err := r.Joined.get(ctx, room, func(ctx context.Context) (int, error) {
		users, err := r.Account.Rooms.Members(ctx, room)
		return len(users), err // 0 if the bot is no longer a member
	})
	return members == 2, err
}

// WillBeAlone reports whether the bot and one other person are a room's only members if everybody who is invited joins.
func (r *Roster) WillBeAlone(ctx context.Context, room string) (bool, error) {
	alone, err := r.IsAlone(ctx, room)
	if err != nil || !alone {
		return false, err
	}
	invited, err := r.Invited.get(ctx, room,
		func(ctx context.Context) (int, error) { return r.Account.Rooms.Invited(ctx, room) })
	return invited == 0 && err == nil, err
}

// IsIn asks the homeserver whether the bot has joined a room.
func (r *Roster) IsIn(ctx context.Context, room string) (bool, error) {
	if !strings.HasPrefix(room, "!") {
		return false, nil
	}
	call, cancel := context.WithTimeout(ctx, matrix.CallTimeout)
	defer cancel()
	joined, err := r.Account.Rooms.IsIn(call, room)
	if err != nil {
		return false, sentence.New(fmt.Errorf("list rooms: %w", err), "The homeserver does not answer; try again in a minute")
	}
	return joined, nil
}

// LeaveIfLast leaves a room if the bot is its only member; last reports that it is, whether or not it could leave.
func (r *Roster) LeaveIfLast(ctx context.Context, room string) (last bool, err error) {
	call, cancel := context.WithTimeout(ctx, matrix.CallTimeout)
	defer cancel()
	members, err := r.Account.Rooms.Members(call, room)
	if err != nil {
		return false, fmt.Errorf("list members: %w", err)
	}
	if slices.ContainsFunc(members, func(user string) bool { return user != r.Account.UserID() }) {
		return false, nil
	}
	r.Log.Info().Str("room", room).Msg("everybody has left: leaving the room")
	if err := r.Account.Rooms.Leave(call, room); err != nil {
		return true, fmt.Errorf("leave room: %w", err)
	}
	return true, nil
}
