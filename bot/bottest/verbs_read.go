package bottest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"matrix-tui/bot/bottest/person"
)

// doReacted waits until the bot has reacted to a message; it may have redacted the reaction since.
func doReacted(ctx context.Context, sc *script, _ bool, args []string) error {
	p, room, m, err := sc.newest(args)
	if err != nil {
		return err
	}
	_, err = p.Wait(ctx, room, func(r person.Msg) bool {
		return r.Type == "m.reaction" && r.Sender == sc.bot.id && r.Target == m.Event && r.Key == args[3]
	})
	return err
}

// doOldReply replies to a message like clients that quote it before the answer.
func doOldReply(ctx context.Context, sc *script, _ bool, args []string) error {
	return sc.tell(ctx, args[0], args[1], func(p *person.Person, room string) (string, error) {
		m, err := newest(p, room, args[2], false)
		if err != nil {
			return "", err
		}
		quoted := "> <" + m.Sender + "> " + strings.ReplaceAll(m.Body, "\n", "\n> ")
		return p.Send(ctx, room, "m.room.message", map[string]any{
			"msgtype": "m.text", "body": fmt.Sprintf("%s\n\n%s", quoted, args[3]), "m.mentions": person.Mentions(args[3]),
			"m.relates_to": map[string]any{"m.in_reply_to": map[string]string{"event_id": m.Event}},
		})
	})
}

// doRead waits for the bot's read receipt. Negated, it must never have been on the message, once all is quiet.
func doRead(ctx context.Context, sc *script, neg bool, args []string) error {
	p, room, m, err := sc.newest(args)
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

func doReplies(_ context.Context, sc *script, neg bool, args []string) error {
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return err
	}
	m, err := newestHeard(p, room, args[2])
	if err == nil && (m.ReplyTo != "") == neg {
		err = fmt.Errorf("it replies to %q", m.ReplyTo)
	}
	return err
}

func doLast(ctx context.Context, sc *script, _ bool, args []string) error {
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return err
	}
	msgs, err := sc.settled(ctx, p, room)
	if err != nil {
		return err
	}
	m, err := newestHeard(p, room, args[2])
	if last := msgs[len(msgs)-1]; err == nil && last.Event != m.Event {
		err = fmt.Errorf("the last event is %s", cut(last.String(), 300))
	}
	return err
}

var usedTokens = regexp.MustCompile(`\b[0-9]+ (s|min) · [0-9,]+ tokens\b`)

func doFigures(ctx context.Context, sc *script, _ bool, args []string) error {
	msgs, err := sc.settledIn(ctx, args)
	if err != nil {
		return err
	}
	newest := map[string]string{}
	for _, m := range msgs {
		if m.Sender == sc.bot.id && m.Type == "m.room.message" {
			newest[cmp.Or(m.EditOf, m.Event)] = m.Body
		}
	}
	got := 0
	for _, text := range newest {
		if usedTokens.MatchString(text) {
			got++
		}
	}
	return differs("messages with figures", got, args[2])
}
