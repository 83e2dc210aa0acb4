package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"matrix-tui/bot/policy"
	"matrix-tui/bot/text"
	"matrix-tui/state"
	"matrix-tui/state/sentence"
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

// doPair runs !pair: it allows the user who has the code, in the direct chat where they got it and nowhere else.
func (r *room) doPair(ctx context.Context, row state.Event, code string) error {
	user, room, err := r.bot.pairing.Accept(code, time.Now())
	if said, ok := sentence.Of(err); ok {
		return r.tell(ctx, row, said)
	}
	if err != nil {
		return fmt.Errorf("accept pairing code: %w", err)
	}
	if err := r.bot.policy.Allow(user, room, r.bot.Allow); err != nil {
		return r.refuse(ctx, row, err)
	}
	other := r.bot.room(room)
	hello := other.notice(state.KindPairing, state.KeyOf(row.Room, row.ID)+"-paired", "You're paired. Send me a task.")
	if err := other.queue(ctx, hello); err != nil {
		return err
	}
	return r.tell(ctx, row, text.Code(user)+" may now use me in their direct chat with me. To allow that in every room without its own list, send "+text.Code("!policy allow "+user)+"; in one more room, with the room's ID at the end.")
}

// refuse tells the room an error that has a sentence and returns any other.
func (r *room) refuse(ctx context.Context, row state.Event, err error) error {
	if said, ok := sentence.Of(err); ok {
		return r.tell(ctx, row, said)
	}
	return fmt.Errorf("change policy: %w", err)
}

const policyUsage = "`!policy show`, `!policy set KEY VALUE`, `!policy allow USER`, `!policy block USER`, `!policy reset`; " +
	"add a room's ID at the end to change only that room, else the change applies to all rooms. Keys: "

// doPolicy shows and edits policy.yaml.
func (r *room) doPolicy(ctx context.Context, row state.Event, text string) error {
	words := strings.Fields(text)
	room := ""
	if last := words[len(words)-1]; len(words) > 1 && strings.HasPrefix(last, "!") {
		room, words = last, words[:len(words)-1]
	}
	p := r.bot.policy
	var err error
	switch verb, rest := words[0], words[1:]; {
	case verb == "show" && len(rest) == 0:
		return r.tell(ctx, row, p.Show(room))
	case verb == "set" && len(rest) >= 2:
		err = p.Set(room, rest[0], strings.Join(rest[1:], " "))
	case verb == "allow" && len(rest) == 1:
		err = p.Allow(rest[0], room, r.bot.Allow)
	case verb == "block" && len(rest) == 1 && r.bot.isOwner(rest[0]):
		return r.tell(ctx, row, "An owner cannot be blocked; MATRIX_OWNERS says who they are.")
	case verb == "block" && len(rest) == 1:
		err = p.Block(rest[0], room)
	case verb == "reset" && len(rest) == 0:
		err = p.Reset(room)
	default:
		return r.tell(ctx, row, policyUsage+"`"+strings.Join(slices.Clone(policy.Keys), "`, `")+"`.")
	}
	if err != nil {
		return r.refuse(ctx, row, err)
	}
	return r.tell(ctx, row, "Done.\n\n"+p.Show(room))
}
