package bottest

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"matrix-tui/bot/bottest/host"
	"matrix-tui/bot/bottest/person"
)

// heard reports whether somebody else sent this message.
func heard(p *person.Person, m person.Msg) bool {
	return m.Type == "m.room.message" && m.Sender != p.ID()
}

// take waits for a matching message that no expect of this person has matched before.
func (sc *script) take(ctx context.Context, p *person.Person, room, pattern string,
	fits func(person.Msg) bool) (person.Msg, error) {
	re, err := regexp.Compile("(?m)" + pattern) // a result ends with a line about itself
	if err != nil {
		return person.Msg{}, err
	}
	m, err := p.Wait(ctx, room, func(m person.Msg) bool {
		return fits(m) && re.MatchString(m.Body) && !sc.expected[p.ID()+m.Event]
	})
	if err != nil {
		return m, fmt.Errorf("nothing new fits %q: %w", pattern, err)
	}
	sc.expected[p.ID()+m.Event] = true
	fmt.Fprintln(sc.ts.Stdout(), m.Body)
	return m, nil
}

func doExpect(ctx context.Context, sc *script, neg bool, args []string) error {
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return err
	}
	fits := func(m person.Msg) bool { return heard(p, m) }
	if neg {
		return sc.never(ctx, p, room, args[2], fits)
	}
	_, err = sc.take(ctx, p, room, args[2], fits)
	return err
}

func doFinal(ctx context.Context, sc *script, neg bool, args []string) error {
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return err
	}
	if neg {
		return sc.never(ctx, p, room, args[2], sc.result)
	}
	_, err = sc.take(ctx, p, room, args[2], sc.result)
	return err
}

func doExpectOrder(ctx context.Context, sc *script, _ bool, args []string) error {
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return err
	}
	var res []*regexp.Regexp
	for _, pattern := range args[2:] {
		re, err := regexp.Compile("(?m)" + pattern) // a result ends with a line about itself
		if err != nil {
			return err
		}
		res = append(res, re)
	}
	next, after := 0, ""
	for next < len(res) {
		passed := after == ""
		m, err := p.Wait(ctx, room, func(m person.Msg) bool {
			if m.Event == after {
				passed = true
				return false
			}
			return passed && sc.result(m) && slices.ContainsFunc(res,
				func(re *regexp.Regexp) bool { return re.MatchString(m.Body) })
		})
		if err != nil {
			return fmt.Errorf("nothing fits %q after the %d before it: %w", args[2+next], next, err)
		}
		if !res[next].MatchString(m.Body) {
			return fmt.Errorf("%q came when %q was due", cut(m.Body, 200), args[2+next])
		}
		sc.expected[p.ID()+m.Event] = true
		after = m.Event
		next++
	}
	return nil
}

func doTyping(ctx context.Context, sc *script, neg bool, args []string) error {
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return err
	}
	return p.WaitTyping(ctx, room, sc.bot.id, !neg)
}

func doBeginTyping(ctx context.Context, sc *script, _ bool, args []string) error {
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return err
	}
	return p.Type(ctx, room)
}

func doJoined(ctx context.Context, sc *script, neg bool, args []string) error {
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return err
	}
	user, err := sc.userID(ctx, args[2])
	if err != nil {
		return err
	}
	return host.Poll(ctx, func() (bool, error) {
		members, err := p.Members(ctx, room)
		return err == nil && slices.Contains(members, user) != neg, nil
	})
}

func doMentioned(ctx context.Context, sc *script, neg bool, args []string) error {
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return err
	}
	m, err := newestHeard(p, room, args[2])
	if err != nil {
		return err
	}
	if m.Mentions == nil {
		return fmt.Errorf("the message has no m.mentions")
	}
	if slices.Contains(m.Mentions, p.ID()) == neg {
		return fmt.Errorf("mentions are %v", m.Mentions)
	}
	return nil
}

func doHTML(ctx context.Context, sc *script, neg bool, args []string) error {
	p, room, re, err := sc.looking(args)
	if err != nil {
		return err
	}
	fits := func(m person.Msg) bool { return heard(p, m) && re.MatchString(m.HTML) }
	if neg {
		return sc.never(ctx, p, room, "", fits)
	}
	m, err := p.Wait(ctx, room, fits)
	if err != nil {
		return fmt.Errorf("no formatted body fits %q: %w", args[2], err)
	}
	fmt.Fprintln(sc.ts.Stdout(), m.HTML)
	return nil
}

// newestHeard returns the newest message of somebody else whose text matches.
func newestHeard(p *person.Person, room, pattern string) (person.Msg, error) {
	re, err := regexp.Compile("(?m)" + pattern) // a result ends with a line about itself
	if err != nil {
		return person.Msg{}, err
	}
	for _, m := range slices.Backward(p.Messages(room)) {
		if heard(p, m) && re.MatchString(m.Body) {
			return m, nil
		}
	}
	return person.Msg{}, fmt.Errorf("no message fits %q", pattern)
}
