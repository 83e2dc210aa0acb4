package membership

import (
	"context"
	"errors"
	"fmt"
	"time"

	"matrix-tui/bot/policy"
	"matrix-tui/state"
)

// Stranger returns the unknown user with whom this room is a direct chat, or "".
func (r *Room) Stranger() string {
	user := r.Roster.Direct.User(r.Out.ID)
	if user != "" && r.Roster.MayUse(r.Out.ID, user, true).Pair {
		return user
	}
	return ""
}

// stranger sends a pairing code, which an owner can accept, to an unknown user who
// writes in a direct chat. A user who already has a code gets no further message.
func (r *Room) stranger(ctx context.Context, row state.Event) error {
	told, err := r.codeFor(row.Sender)
	if err != nil {
		return err
	}
	return r.Out.Reply(ctx, told, row.ID)
}

// codeFor returns the message with an unknown user's pairing code, or none while
// too many codes are pending. The transaction ID depends on the code, so that each
// code is sent exactly once, even after a crash.
func (r *Room) codeFor(user string) ([]state.Message, error) {
	code, err := r.Pairing.Code(user, r.Out.ID, time.Now())
	if errors.Is(err, policy.ErrTooManyCodes) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("create pairing code: %w", err)
	}
	return []state.Message{r.Out.Notice(state.KindPairing, state.Hash(r.Out.ID+"\x00"+code)+"-code",
		"I don't know you yet. Your pairing code is `"+code+"` (valid for one hour). "+
			"Ask one of my owners to send `!pair "+code+"` in their chat with me, then send your message again.")}, nil
}

// inVain tells somebody who addresses the bot that it does not work for them in this room, once a day and room.
func (r *Room) inVain(ctx context.Context, row state.Event) error {
	said := "I don't work for you in this room. My owners decide who may use me."
	if r.Roster.MayUse(r.Out.ID, row.Sender, false).Heard {
		said = "In this room I only work for my owners."
	}
	today := r.Turn.Env.Clock.Now().UTC().Format(time.DateOnly) // by our clock: a server may send any time
	txn := state.Hash(r.Out.ID+"\x00"+today) + "-vain"
	return r.Out.Reply(ctx, []state.Message{r.Out.Answer(row, state.KindReply, txn, said)}, row.ID)
}
