package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"matrix-tui/bot/policy"
	"matrix-tui/bot/text"
	"matrix-tui/state"
	"matrix-tui/state/sentence"
)

const policyUsage = "`!policy show`, `!policy set KEY VALUE`, `!policy allow USER`, `!policy block USER`, `!policy " +
	"reset`; add a room's ID at the end to change only that room, else the change applies to all rooms. Keys: "

// editPolicy runs !policy: it shows and edits policy.yaml.
func editPolicy(_ context.Context, c *Call) (string, error) {
	words := strings.Fields(c.text)
	room := ""
	if last := words[len(words)-1]; len(words) > 1 && strings.HasPrefix(last, "!") {
		room, words = last, words[:len(words)-1]
	}
	p := c.Env.Policy
	var err error
	switch verb, rest := words[0], words[1:]; {
	case verb == "show" && len(rest) == 0:
		return p.Show(room), nil
	case verb == "set" && len(rest) >= 2:
		err = p.Set(room, rest[0], strings.Join(rest[1:], " "))
	case verb == "allow" && len(rest) == 1:
		err = p.Allow(rest[0], room, c.Roster.Allow)
	case verb == "block" && len(rest) == 1 && c.Roster.IsOwner(rest[0]):
		return "An owner cannot be blocked; MATRIX_OWNERS says who they are.", nil
	case verb == "block" && len(rest) == 1:
		err = p.Block(rest[0], room)
	case verb == "reset" && len(rest) == 0:
		err = p.Reset(room)
	default:
		return policyUsage + "`" + strings.Join(policy.Keys, "`, `") + "`.", nil
	}
	if err != nil {
		return refused(err)
	}
	return "Done.\n\n" + p.Show(room), nil
}

// refused returns what an owner is told about a change of the policy that was refused, or any other error.
func refused(err error) (said string, _ error) {
	if said, ok := sentence.Of(err); ok {
		return said, nil
	}
	return "", fmt.Errorf("change policy: %w", err)
}

// pair runs !pair: it allows the user who has the code, in the direct chat where they got it and nowhere else.
func pair(ctx context.Context, c *Call) (string, error) {
	user, room, err := c.Pairing.Accept(c.text, time.Now())
	if said, ok := sentence.Of(err); ok {
		return said, nil
	}
	if err != nil {
		return "", fmt.Errorf("accept pairing code: %w", err)
	}
	if err := c.Env.Policy.Allow(user, room, c.Roster.Allow); err != nil {
		return refused(err)
	}
	hello := state.Message{Room: room, Kind: state.KindPairing, Txn: state.KeyOf(c.Row.Room, c.Row.ID) + "-paired",
		Notice: true, Body: "You're paired. Send me a task."}
	if err := c.Bot.Greet(ctx, hello); err != nil {
		return "", err
	}
	return text.Code(user) + " may now use me in their direct chat with me. To allow that in every room without its own " +
		"list, send " +
		text.Code("!policy allow "+user) + "; in one more room, with the room's ID at the end.", nil
}
