package bottest

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"matrix-tui/bot/bottest/host"
	"matrix-tui/bot/bottest/person"
)

// What distinguishes the bot's questions and reminders from results: the end of their transaction IDs.
var (
	askingTxn   = regexp.MustCompile(`"io\.matrix-tui\.txn":\s*"[0-9a-f]+-q[0-9]+"`)
	reminderTxn = regexp.MustCompile(`"io\.matrix-tui\.txn":\s*"[0-9a-f]+-q[0-9]+-w(-s)?"`)
)

// result reports whether a message is the result of a task: text of the bot's own that answers something, and asks
// nothing.
func (sc *script) result(m person.Msg) bool {
	return m.Sender == sc.bot.id && m.Final() && !askingTxn.Match(m.Content) && !reminderTxn.Match(m.Content)
}

// asked reports whether the bot asks a question.
func (sc *script) asked(m person.Msg) bool {
	return m.Sender == sc.bot.id && m.Type == "m.room.message" && m.EditOf == "" && askingTxn.Match(m.Content)
}

// doQuestion expects a correct question: text, about a person's message, mentioning only that person, and in a room of
// two nobody.
func doQuestion(ctx context.Context, sc *script, neg bool, args []string) error {
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return err
	}
	if neg {
		return sc.never(ctx, p, room, args[2], sc.asked)
	}
	m, err := sc.take(ctx, p, room, args[2], sc.asked)
	if err != nil {
		return err
	}
	if m.Kind != "m.text" {
		return fmt.Errorf("the question is %s, not m.text", m.Kind)
	}
	for _, task := range p.Messages(room) {
		if !m.Answers(task.Event) || task.Type != "m.room.message" || task.Sender == sc.bot.id {
			continue
		}
		want := []string{task.Sender}
		members, err := p.Members(ctx, room)
		if err != nil {
			return err
		}
		if len(members) == 2 {
			want = []string{}
		}
		if m.Mentions == nil || !slices.Equal(m.Mentions, want) {
			return fmt.Errorf("the question mentions %v, not %v", m.Mentions, want)
		}
		return nil
	}
	return fmt.Errorf("the question replies to %q, and is about no message of a person", m.ReplyTo)
}

// doPinned waits until an execution of the room has the message as its question.
func doPinned(ctx context.Context, sc *script, _ bool, args []string) error {
	_, _, m, err := sc.newest(args)
	if err != nil {
		return err
	}
	err = host.Poll(ctx, func() (bool, error) {
		value, err := sc.stateValue(".executions[" + args[1] + "]")
		return err == nil && strings.Contains(value, `"question_event":"`+m.Event+`"`), nil
	})
	if err != nil {
		return fmt.Errorf("no execution waits for an answer to %s: %w", m.Event, err)
	}
	return nil
}

// doReactions checks the bot's own reactions on a message, in order.
func doReactions(ctx context.Context, sc *script, _ bool, args []string) error {
	p, room, m, err := sc.newest(args)
	if err != nil {
		return err
	}
	msgs, err := sc.settled(ctx, p, room)
	if err != nil {
		return err
	}
	var keys []string
	for _, r := range msgs {
		if r.Type == "m.reaction" && r.Sender == sc.bot.id && r.Target == m.Event {
			keys = append(keys, r.Key)
		}
	}
	if !slices.Equal(keys, args[3:]) {
		return fmt.Errorf("the bot's reactions are %q, not %q", keys, args[3:])
	}
	return nil
}

var matrixTo = regexp.MustCompile(`https://matrix\.to/#/([^\s"<>()?]+)`)

// links returns the room/event pairs that a text links to.
func links(text string) []string {
	var out []string
	for _, m := range matrixTo.FindAllStringSubmatch(text, -1) {
		if target, err := url.PathUnescape(strings.TrimRight(m[1], ".,")); err == nil {
			out = append(out, target)
		}
	}
	return out
}

// doLinked looks for a link from the newest matching message to another one, in the same room or in the given one. The
// link must name servers.
func doLinked(_ context.Context, sc *script, _ bool, args []string) error {
	p, room, m, err := sc.newest(args)
	if err != nil {
		return err
	}
	where := room
	if len(args) > 4 {
		if _, where, err = sc.who(args[0], args[4]); err != nil {
			return err
		}
	}
	target, err := newest(p, where, args[3], false)
	if err != nil {
		return err
	}
	if have := links(m.HTML); !slices.Contains(have, where+"/"+target.Event) {
		return fmt.Errorf("it links to %q, not to %s/%s", have, where, target.Event)
	}
	if !strings.Contains(m.HTML, target.Event+"?via=") {
		return fmt.Errorf("the link names no server: %q", m.HTML)
	}
	return nil
}

// doPings checks all messages of the bot: together they mention exactly these people.
func doPings(ctx context.Context, sc *script, _ bool, args []string) error {
	msgs, err := sc.settledIn(ctx, args)
	if err != nil {
		return err
	}
	var got, want []string
	for _, m := range msgs {
		if m.Type != "m.room.message" || m.Sender != sc.bot.id || m.Redacted {
			continue
		}
		users, err := pinged(m.Content)
		if err != nil {
			return fmt.Errorf("%w: %s", err, cut(string(m.Content), 300))
		}
		got = append(got, users...)
	}
	for _, name := range args[2:] {
		user, err := sc.userID(ctx, name)
		if err != nil {
			return err
		}
		want = append(want, user)
	}
	slices.Sort(got)
	slices.Sort(want)
	if got = slices.Compact(got); !slices.Equal(got, want) {
		return fmt.Errorf("the bot pings %v, not %v", got, want)
	}
	return nil
}

func doThread(ctx context.Context, sc *script, _ bool, args []string) error {
	return sc.about(ctx, args, false, func(p *person.Person, room, root string) (string, error) {
		last := root
		for _, m := range p.Messages(room) {
			if m.Thread == root {
				last = m.Event
			}
		}
		return p.Send(ctx, room, "m.room.message", inThread(root, last, args[3]))
	})
}

// doMisreply replies, in one room, to a message of another one.
func doMisreply(ctx context.Context, sc *script, _ bool, args []string) error {
	other, err := sc.room(args[2])
	if err != nil {
		return err
	}
	m, err := newest(sc.people[other.by], other.id, args[3], false)
	if err != nil {
		return err
	}
	return sc.tell(ctx, args[0], args[1], func(p *person.Person, room string) (string, error) {
		return p.Reply(ctx, room, m.Event, args[4])
	})
}

func doReplyOutside(ctx context.Context, sc *script, _ bool, args []string) error {
	return sc.about(ctx, args, false, func(p *person.Person, room, target string) (string, error) {
		return p.ReplyOutside(ctx, room, target, args[3])
	})
}

// yesCode is how a question asks for a yes that names it.
var yesCode = regexp.MustCompile(`yes [0-9]{4}`)

// doApprove approves what a question asks, as it says.
func doApprove(ctx context.Context, sc *script, _ bool, args []string) error {
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return err
	}
	m, err := newest(p, room, args[2], false)
	if err != nil {
		return err
	}
	words := yesCode.FindString(m.Body)
	switch {
	case words == "":
		return fmt.Errorf("the question asks for no yes with a code: %s", cut(m.Body, 300))
	case len(args) == 3:
		return doReplyTo(ctx, sc, false, []string{args[0], args[1], args[2], words})
	case args[3] == "plain":
		return doSay(ctx, sc, false, []string{args[0], args[1], words})
	}
	return doReplyOutside(ctx, sc, false, []string{args[0], args[1], args[2], words})
}
