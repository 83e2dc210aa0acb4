package command

import (
	"context"
	"fmt"
	"time"

	"matrix-tui/bot/text"
	"matrix-tui/state"
	"matrix-tui/state/sentence"
)

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
