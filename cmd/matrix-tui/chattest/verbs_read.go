package chattest

import (
	"context"
	"errors"
)

// doRead waits for the bot's read receipt. The other way round it must never
// have stood on the message, once all is quiet.
func doRead(ctx context.Context, sc *script, neg bool, args []string) error {
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return err
	}
	m, err := newest(p, room, args[2], false)
	if err != nil {
		return err
	}
	if !neg {
		return p.WaitRead(ctx, room, sc.bot.id, m.Event)
	}
	if err := sc.quiet(ctx); err != nil {
		return err
	}
	if p.MarkedRead(room, sc.bot.id, m.Event) {
		return errors.New("the bot has marked it as read")
	}
	return nil
}
