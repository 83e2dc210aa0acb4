package bottest

import (
	"context"
	"fmt"
)

// doAnchored looks for relations of the bot's events to events outside the room.
func doAnchored(ctx context.Context, sc *script, _ bool, args []string) error {
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return err
	}
	msgs, err := sc.settled(ctx, p, room)
	if err != nil {
		return err
	}
	here := map[string]bool{"": true}
	for _, m := range msgs {
		here[m.Event] = true
	}
	seen := 0
	for _, m := range msgs {
		if m.Sender != sc.bot.id {
			continue
		}
		for _, target := range []string{m.ReplyTo, m.Thread, m.EditOf, m.Target} {
			if !here[target] {
				return fmt.Errorf("%s is about %s, which is not in the room", cut(m.String(), 200), target)
			}
			if target != "" {
				seen++
			}
		}
	}
	if seen == 0 {
		return fmt.Errorf("the bot has said nothing about anything in the room")
	}
	return nil
}

// doThreaded checks that the newest matching message is in the thread of another one.
func doThreaded(_ context.Context, sc *script, neg bool, args []string) error {
	p, room, m, err := sc.newest(args)
	if err != nil {
		return err
	}
	root, err := newest(p, room, args[3], false)
	if err != nil {
		return err
	}
	if in := m.Thread == root.Event; in == neg {
		return fmt.Errorf("%q is in the thread of %q, not of %s", m.Body, m.Thread, root.Event)
	}
	return nil
}
