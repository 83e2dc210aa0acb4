package chattest

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"matrix-tui/bot/person"
)

// heard tells whether somebody else said this, in words.
func heard(p *person.Person, m person.Msg) bool {
	return m.Type == "m.room.message" && m.Sender != p.ID()
}

// take waits for a message that fits and that no expect of this person has had.
func (sc *script) take(ctx context.Context, p *person.Person, room, pattern string, fits func(person.Msg) bool) error {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	m, err := p.Wait(ctx, room, func(m person.Msg) bool {
		return fits(m) && re.MatchString(m.Body) && !sc.expected[p.ID()+m.Event]
	})
	if err != nil {
		return fmt.Errorf("nothing new fits %q: %w", pattern, err)
	}
	sc.expected[p.ID()+m.Event] = true
	fmt.Fprintln(sc.ts.Stdout(), m.Body)
	return nil
}

// never fails when a message fits, once all is quiet.
func (sc *script) never(ctx context.Context, p *person.Person, room, pattern string, fits func(person.Msg) bool) error {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	msgs, err := sc.settled(ctx, p, room)
	if err != nil {
		return err
	}
	for _, m := range msgs {
		if fits(m) && re.MatchString(m.Body) {
			return fmt.Errorf("somebody said %s", cut(m.String(), 500))
		}
	}
	return nil
}

// settled is the whole room as the homeserver has it once all is quiet.
func (sc *script) settled(ctx context.Context, p *person.Person, room string) ([]person.Msg, error) {
	if err := sc.quiet(ctx); err != nil {
		return nil, err
	}
	return p.History(ctx, room)
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
	return sc.take(ctx, p, room, args[2], fits)
}

func doFinal(ctx context.Context, sc *script, neg bool, args []string) error {
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return err
	}
	fits := func(m person.Msg) bool { return m.Sender == sc.bot.id && m.Final() }
	if neg {
		return sc.never(ctx, p, room, args[2], fits)
	}
	return sc.take(ctx, p, room, args[2], fits)
}

func doExpectOrder(ctx context.Context, sc *script, _ bool, args []string) error {
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return err
	}
	var res []*regexp.Regexp
	for _, pattern := range args[2:] {
		re, err := regexp.Compile(pattern)
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
			return passed && m.Sender == sc.bot.id && m.Final() && slices.ContainsFunc(res, func(re *regexp.Regexp) bool { return re.MatchString(m.Body) })
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

func doCount(ctx context.Context, sc *script, _ bool, args []string) error {
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return err
	}
	re, err := regexp.Compile(args[2])
	if err != nil {
		return err
	}
	want, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	msgs, err := sc.settled(ctx, p, room)
	if err != nil {
		return err
	}
	got := 0
	for _, m := range msgs {
		if heard(p, m) && m.EditOf == "" && re.MatchString(m.Body) {
			got++
		}
	}
	if got != want {
		return fmt.Errorf("%d messages fit, not %d", got, want)
	}
	return nil
}

// doFinals counts tasks that were answered: a long answer may take several
// messages, but they follow each other and answer one task.
func doFinals(ctx context.Context, sc *script, _ bool, args []string) error {
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return err
	}
	want, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	msgs, err := sc.settled(ctx, p, room)
	if err != nil {
		return err
	}
	answered := map[string]string{}
	got := 0
	for _, m := range msgs {
		if m.Sender != sc.bot.id || !m.Final() {
			continue
		}
		got++
		if before, ok := answered[m.ReplyTo]; ok {
			return fmt.Errorf("one task has two finals: %q and %q", cut(before, 200), cut(m.Body, 200))
		}
		answered[m.ReplyTo] = m.Body
	}
	if got != want {
		return fmt.Errorf("%d final messages, not %d", got, want)
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

func doJoined(ctx context.Context, sc *script, neg bool, args []string) error {
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return err
	}
	user, err := sc.userID(ctx, args[2])
	if err != nil {
		return err
	}
	return poll(ctx, func() (bool, error) {
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

func doHTML(ctx context.Context, sc *script, _ bool, args []string) error {
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return err
	}
	re, err := regexp.Compile(args[2])
	if err != nil {
		return err
	}
	m, err := p.Wait(ctx, room, func(m person.Msg) bool { return heard(p, m) && re.MatchString(m.HTML) })
	if err != nil {
		return fmt.Errorf("no formatted body fits %q: %w", args[2], err)
	}
	fmt.Fprintln(sc.ts.Stdout(), m.HTML)
	return nil
}

// newestHeard is the newest message of somebody else whose text fits.
func newestHeard(p *person.Person, room, pattern string) (person.Msg, error) {
	re, err := regexp.Compile(pattern)
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

// doEditPace looks at the bot's edits by the homeserver's clock.
func doEditPace(ctx context.Context, sc *script, _ bool, args []string) error {
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return err
	}
	pace, err := time.ParseDuration(args[2])
	if err != nil {
		return err
	}
	msgs, err := sc.settled(ctx, p, room)
	if err != nil {
		return err
	}
	edits := map[string][]time.Time{}
	for _, m := range msgs {
		if m.Sender == sc.bot.id && m.EditOf != "" {
			edits[m.EditOf] = append(edits[m.EditOf], m.Time)
		}
	}
	if len(edits) == 0 {
		return fmt.Errorf("the bot has edited nothing")
	}
	for _, times := range edits {
		for i := 1; i < len(times)-1; i++ {
			if apart := times[i].Sub(times[i-1]); apart < pace {
				return fmt.Errorf("two edits are %v apart", apart)
			}
		}
	}
	return nil
}
