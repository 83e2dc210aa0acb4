package bot

import (
	"context"
	"fmt"
	"slices"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/state/event"
	"matrix-tui/state/retry"
	"matrix-tui/state/sentence"
)

// isDirect reports whether a room is a direct chat.
func (b *Bot) isDirect(room string) bool { return b.direct.User(room) != "" }

// loadDirects fetches the list of direct chats and retries until the homeserver returns
// it, or says that there is none. Afterwards /sync reports changes only. A list that makes
// no sense counts as none.
func (b *Bot) loadDirects(ctx context.Context) error {
	for again := retry.New(time.Second, 30*time.Second); ; {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		users, err := b.account.Direct(call)
		cancel()
		switch {
		case err == nil:
			b.direct.Take(users)
			return nil
		case matrix.IsNotFound(err):
			return nil
		case matrix.IsUnknownToken(err):
			if err := b.account.Login(ctx); err != nil {
				return err
			}
		case !matrix.Transient(err) && !matrix.IsAnswer(err):
			b.log.Warn().Err(err).Msg("cannot read direct chats")
			return nil
		}
		b.log.Warn().Err(err).Msg("cannot read direct chats, retrying")
		if err := again.Wait(ctx, err); err != nil {
			return err
		}
	}
}

// markDirect adds a room to the direct chats with a user. If the homeserver goes on refusing that, or will never accept it,
// only this process knows.
func (b *Bot) markDirect(ctx context.Context, user, room string, refused *refusal) error {
	users, changed := b.direct.With(user, room)
	if !changed {
		return nil
	}
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := b.account.SetDirect(call, users); refused.again("direct "+room, err) {
		return sentence.New(fmt.Errorf("store direct chat: %w", err), "The homeserver does not let me note that this is a direct chat.")
	} else if err != nil {
		b.log.Warn().Err(err).Str("room", room).Msg("cannot store the list of direct chats")
	}
	b.direct.Take(users)
	return nil
}

// noteMembers forgets the numbers that a batch may have changed.
func (b *Bot) noteMembers(batch *matrix.Sync) {
	for name, joined := range batch.Joined {
		changed := joined.Limited
		for _, e := range slices.Concat(joined.State, joined.Timeline) {
			changed = changed || e.Type == event.TypeMember
		}
		if changed {
			b.members.Forget(name)
			b.invited.Forget(name)
		}
	}
	for _, name := range batch.Left {
		b.members.Forget(name)
		b.invited.Forget(name)
	}
}

// mayBeAlone reports whether the bot and one other person may be a room's only
// members. It makes no request: if the number is not known, the answer is true.
func (b *Bot) mayBeAlone(room string) bool {
	members, known := b.members.Of(room)
	return !known || members == 2
}

// isAlone reports whether the bot and one other person are a room's only members.
func (b *Bot) isAlone(ctx context.Context, room string) (bool, error) {
	if members, known := b.members.Of(room); known {
		return members == 2, nil
	}
	v := b.members.Version()
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	members, err := b.account.Members(call, room)
	if err != nil && (matrix.Temporary(err) || ctx.Err() != nil) {
		return false, fmt.Errorf("list members: %w", err)
	}
	b.members.Learn(room, v, len(members)) // 0 if the bot is no longer a member
	return len(members) == 2, nil
}

// willBeAlone reports whether the bot and one other person are a room's only members if everybody who is invited joins.
func (b *Bot) willBeAlone(ctx context.Context, room string) (bool, error) {
	alone, err := b.isAlone(ctx, room)
	if err != nil || !alone {
		return false, err
	}
	if invited, known := b.invited.Of(room); known {
		return invited == 0, nil
	}
	v := b.invited.Version()
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	invited, err := b.account.Invited(call, room)
	if err != nil && (matrix.Temporary(err) || ctx.Err() != nil) {
		return false, fmt.Errorf("list invited members: %w", err)
	}
	b.invited.Learn(room, v, invited)
	return invited == 0, nil
}
