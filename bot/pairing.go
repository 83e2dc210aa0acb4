package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"matrix-tui/bot/policy"
	"matrix-tui/state"
)

// doStranger sends a pairing code, which an owner can accept, to an unknown user who
// writes in a direct chat. A user who already has a code gets no further message.
func (r *room) doStranger(ctx context.Context, row state.Event) error {
	told, err := r.codeFor(row.Sender)
	if err != nil {
		return err
	}
	return r.reply(ctx, told, row.ID)
}

// codeFor returns the message with an unknown user's pairing code, or none while
// too many codes are pending. The transaction ID depends on the code, so that each
// code is sent exactly once, even after a crash.
func (r *room) codeFor(user string) ([]state.Message, error) {
	code, err := r.bot.pairing.Code(user, r.id, time.Now())
	if errors.Is(err, policy.ErrTooManyCodes) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("create pairing code: %w", err)
	}
	return []state.Message{r.notice(state.KindPairing, state.Hash(r.id+"\x00"+code)+"-code", "I don't know you yet. Your pairing code is `"+code+"` (valid for one hour). "+
		"Ask one of my owners to send `!pair "+code+"` in their chat with me, then send your message again.")}, nil
}

// doInVain tells somebody who addresses the bot that it does not work for them in this room, once a day and room.
func (r *room) doInVain(ctx context.Context, row state.Event) error {
	said := "I don't work for you in this room. My owners decide who may use me."
	if r.bot.mayUse(r.id, row.Sender, false).Heard {
		said = "In this room I only work for my owners."
	}
	txn := state.Hash(r.id+"\x00"+r.bot.now().UTC().Format(time.DateOnly)) + "-vain" // by our clock: a server may send any time
	return r.reply(ctx, []state.Message{r.answer(row, state.KindReply, txn, said)}, row.ID)
}

// stranger returns the unknown user with whom this room is a direct chat, or "".
func (r *room) stranger() string {
	user := r.bot.roster.Direct.User(r.id)
	if user != "" && r.bot.mayUse(r.id, user, true).Pair {
		return user
	}
	return ""
}
