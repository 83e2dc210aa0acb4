package bottest

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"matrix-tui/bot/bottest/host"
	"matrix-tui/bot/bottest/person"
)

// never fails if a message matches, once all is quiet.
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

// settledIn is settled for the person and the room that a verb names first.
func (sc *script) settledIn(ctx context.Context, args []string) ([]person.Msg, error) {
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return nil, err
	}
	return sc.settled(ctx, p, room)
}

// settled is the whole room as the homeserver has it, once all is quiet. A homeserver accepts an event before it shows
// it to others, so that the bot's last one is waited for, unless the homeserver was restored from a backup that lacks
// it.
func (sc *script) settled(ctx context.Context, p *person.Person, room string) (msgs []person.Msg, err error) {
	if err := sc.quiet(ctx); err != nil {
		return nil, err
	}
	sent, err := sc.lastSent(ctx)
	if err != nil {
		return nil, err
	}
	last := sent[room]
	err = host.Poll(ctx, func() (bool, error) {
		if msgs, err = p.History(ctx, room); err != nil {
			return false, err
		}
		shown := last == "" || slices.ContainsFunc(msgs, func(m person.Msg) bool { return m.Event == last })
		return shown || last == sc.mayBeLost[room] && !p.Has(ctx, room, last), nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the room up to the bot's last event %s: %w", last, err)
	}
	return msgs, nil
}

// differs returns an error unless got is the number in want.
func differs(what string, got int, want string) error {
	n, err := strconv.Atoi(want)
	if err == nil && got != n {
		err = fmt.Errorf("%d %s, not %d", got, what, n)
	}
	return err
}

// withoutDraft returns a message's text; if it is a progress notice, without what the agent has said so far: whether the
// first version of a notice shows some of the answer depends on how fast the host is.
func withoutDraft(body string) string {
	if !strings.HasPrefix(body, "⏳ ") {
		return body
	}
	notice, _, _ := strings.Cut(body, "\n\n> ")
	return notice
}

func doCount(ctx context.Context, sc *script, _ bool, args []string) error {
	p, room, re, err := sc.looking(args)
	if err != nil {
		return err
	}
	msgs, err := sc.settled(ctx, p, room)
	if err != nil {
		return err
	}
	got := 0
	for _, m := range msgs {
		if heard(p, m) && m.EditOf == "" && re.MatchString(withoutDraft(m.Body)) {
			got++
		}
	}
	return differs("matching messages", got, args[3])
}

// doFinals counts answered tasks: a long answer may take several messages, but they follow each other and answer one
// task.
func doFinals(ctx context.Context, sc *script, _ bool, args []string) error {
	msgs, err := sc.settledIn(ctx, args)
	if err != nil {
		return err
	}
	answered := map[string]string{}
	got := 0
	for _, m := range msgs {
		if !sc.result(m) {
			continue
		}
		got++
		key, _, _ := strings.Cut(m.Txn, "-")
		task := cmp.Or(key, m.ReplyTo)
		if before, ok := answered[task]; ok {
			return fmt.Errorf("one task has two finals: %q and %q", cut(before, 200), cut(m.Body, 200))
		}
		answered[task] = m.Body
	}
	return differs("final messages", got, args[2])
}

// doEditPace checks the bot's edits by the homeserver's clock.
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

// doAnchored looks for relations of the bot's events to events outside the room.
func doAnchored(ctx context.Context, sc *script, _ bool, args []string) error {
	msgs, err := sc.settledIn(ctx, args)
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
