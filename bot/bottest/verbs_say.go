package bottest

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"matrix-tui/bot/bottest/host"
	"matrix-tui/bot/bottest/person"
)

// tell sends one message and records it as something the bot must finish, if the bot is in the room.
func (sc *script) tell(ctx context.Context, name, place string,
	send func(p *person.Person, room string) (string, error)) error {
	p, room, err := sc.who(name, place)
	if err != nil {
		return err
	}
	event, err := send(p, room)
	if err != nil {
		return err
	}
	sc.note(p, room, event)
	// one's own message must be in one's own timeline before the script continues
	_, err = p.Wait(ctx, room, func(m person.Msg) bool { return m.Event == event })
	return err
}

// hint is tell for events other than messages: nothing waits for them.
func (sc *script) hint(name, place, pattern string, mine bool,
	send func(p *person.Person, room, target string) (string, error)) error {
	p, room, err := sc.who(name, place)
	if err != nil {
		return err
	}
	m, err := newest(p, room, pattern, mine)
	if err != nil {
		return err
	}
	_, err = send(p, room, m.Event)
	return err
}

// note records an event for quiet if the bot is a member according to p's timeline.
func (sc *script) note(p *person.Person, room, event string) {
	state := ""
	for _, m := range p.Messages(room) {
		if m.Type == "m.room.member" && m.Member == sc.bot.id {
			state = m.Membership
		}
	}
	if state == "join" {
		sc.said[room] = append(sc.said[room], event)
	}
}

// doSayUnheard sends a message that the bot must ignore.
func doSayUnheard(ctx context.Context, sc *script, _ bool, args []string) error {
	p, room, err := sc.who(args[0], args[1])
	if err == nil {
		_, err = p.Say(ctx, room, args[2])
	}
	return err
}

// doSayClear sends a message in clear.
func doSayClear(ctx context.Context, sc *script, _ bool, args []string) error {
	p, room, err := sc.who(args[0], args[1])
	if err == nil {
		_, err = p.SendClear(ctx, room, "m.room.message", map[string]any{"msgtype": "m.text", "body": args[2],
			"m.mentions": person.Mentions(args[2])})
	}
	return err
}

func doSay(ctx context.Context, sc *script, _ bool, args []string) error {
	return sc.tell(ctx, args[0], args[1], func(p *person.Person, room string) (string, error) {
		return p.Say(ctx, room, args[2])
	})
}

func doSayFile(ctx context.Context, sc *script, neg bool, args []string) error {
	text := strings.TrimSuffix(sc.ts.ReadFile(args[2]), "\n")
	return sc.sayOrNot(ctx, neg, args[0], args[1], text)
}

func doSayJSON(ctx context.Context, sc *script, neg bool, args []string) error {
	var text string
	if err := json.Unmarshal([]byte(args[2]), &text); err != nil {
		return fmt.Errorf("not a JSON string: %w", err)
	}
	return sc.sayOrNot(ctx, neg, args[0], args[1], text)
}

// sayOrNot sends a message; neg: the homeserver must refuse it.
func (sc *script) sayOrNot(ctx context.Context, neg bool, name, place, text string) error {
	err := doSay(ctx, sc, false, []string{name, place, text})
	if neg && err == nil {
		return fmt.Errorf("the homeserver accepted it")
	}
	if neg {
		sc.ts.Logf("refused: %v", err)
		return nil
	}
	return err
}

func doNotice(ctx context.Context, sc *script, _ bool, args []string) error {
	return sc.tell(ctx, args[0], args[1], func(p *person.Person, room string) (string, error) {
		return p.Notice(ctx, room, args[2])
	})
}

func doFlood(ctx context.Context, sc *script, _ bool, args []string) error {
	n, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return err
	}
	for i := range n {
		event, err := p.Say(ctx, room, fmt.Sprintf("%s %d", args[3], i+1))
		if err != nil {
			return err
		}
		sc.note(p, room, event)
	}
	return nil
}

// newest returns the newest message of the room whose text matches; mine: an own one.
func newest(p *person.Person, room, pattern string, mine bool) (person.Msg, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return person.Msg{}, err
	}
	for _, m := range slices.Backward(p.Messages(room)) {
		if m.Type == "m.room.message" && m.EditOf == "" && (!mine || m.Sender == p.ID()) && re.MatchString(m.Body) {
			return m, nil
		}
	}
	return person.Msg{}, fmt.Errorf("no message fits %q", pattern)
}

// newest returns the newest matching message for a verb's first arguments, WHO ROOM REGEXP.
func (sc *script) newest(args []string) (p *person.Person, room string, m person.Msg, err error) {
	if p, room, err = sc.who(args[0], args[1]); err == nil {
		m, err = newest(p, room, args[2], false)
	}
	return p, room, m, err
}

// about sends something that relates to an earlier message.
func (sc *script) about(ctx context.Context, args []string, mine bool,
	send func(p *person.Person, room, target string) (string, error)) error {
	return sc.tell(ctx, args[0], args[1], func(p *person.Person, room string) (string, error) {
		var m person.Msg
		var none error
		err := host.Poll(ctx, func() (bool, error) { // somebody else may have seen it earlier
			m, none = newest(p, room, args[2], mine)
			return none == nil, nil
		})
		if err != nil {
			return "", none
		}
		return send(p, room, m.Event)
	})
}

func doReplyTo(ctx context.Context, sc *script, _ bool, args []string) error {
	return sc.about(ctx, args, false, func(p *person.Person, room, target string) (string, error) {
		return p.Reply(ctx, room, target, args[3])
	})
}

func doReact(ctx context.Context, sc *script, _ bool, args []string) error {
	return sc.hint(args[0], args[1], args[2], false, func(p *person.Person, room, target string) (string, error) {
		return p.React(ctx, room, target, args[3])
	})
}

func doEdit(ctx context.Context, sc *script, _ bool, args []string) error {
	return sc.about(ctx, args, true, func(p *person.Person, room, target string) (string, error) {
		return p.Edit(ctx, room, target, args[3])
	})
}

// doEditClear edits a message in clear; the bot must ignore that in an encrypted room, so nothing waits for it.
func doEditClear(ctx context.Context, sc *script, _ bool, args []string) error {
	return sc.hint(args[0], args[1], args[2], true, func(p *person.Person, room, target string) (string, error) {
		return p.EditClear(ctx, room, target, args[3])
	})
}

func doRedact(ctx context.Context, sc *script, _ bool, args []string) error {
	return sc.hint(args[0], args[1], args[2], true, func(p *person.Person, room, target string) (string, error) {
		event, err := p.Redact(ctx, room, target)
		if err == nil {
			sc.note(p, room, event)
		}
		return event, err
	})
}

func doUpload(ctx context.Context, sc *script, _ bool, args []string) error {
	data := []byte(sc.ts.ReadFile(args[2]))
	return sc.tell(ctx, args[0], args[1], func(p *person.Person, room string) (string, error) {
		return p.Upload(ctx, room, args[2], data)
	})
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
