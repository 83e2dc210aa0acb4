package bot

import (
	"context"
	"slices"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/policy"
	"matrix-tui/state/event"
)

// hearing is what the policy says about an event: whether its sender may use
// the bot here, whether it is for the bot, and whether its sender, who is not
// known, is to get a pairing code.
type hearing struct{ heard, reply, pair bool }

// hear gives the policy's word on a room's events. alone tells that the bot and
// one other person are its only members.
func (b *Bot) hear(ctx context.Context, room string, alone bool) func(event.Event) hearing {
	return func(e event.Event) hearing {
		q := b.query(ctx, room, e)
		q.Alone = alone
		d := b.policy.Decide(q)
		return hearing{d.Heard, d.Reply, d.Pair}
	}
}

// query is what the policy decides about.
func (b *Bot) query(ctx context.Context, room string, e event.Event) policy.Query {
	q := policy.Query{Room: room, Sender: e.Sender, Owners: b.Owners, Allow: b.Allow, Direct: b.isDirect(room)}
	m, ok := e.Message()
	if !ok {
		q.Mentioned = true // a reaction, say, is for whom it reaches
		return q
	}
	text := taskText(m)
	_, _, command := parseCommand(text)
	q.Command = command || misspelt(text) != ""
	if m.IsEdit() {
		q.Mentioned = true // it changes what was for the bot, or nothing
		return q
	}
	q.Mentioned = policy.Mentioned(m, b.UserID(), b.name()) || b.isToUs(ctx, room, m)
	return q
}

// isToUs tells whether a message replies to one of ours, or stands in a thread
// of ours.
func (b *Bot) isToUs(ctx context.Context, room string, m event.Message) bool {
	about := m.RelatesTo.About()
	if about == "" {
		return false
	}
	_, err := b.Journal.MessageOf(ctx, room, about)
	return err == nil
}

// couldAnswer tells whether a message could be the answer to a question that
// waits: that needs no mention.
func (r *room) couldAnswer(e event.Event) bool {
	return r.bot.waits.AskedOf(r.id, e.Sender, e.Relation().Thread())
}

// name is what the bot is called.
func (b *Bot) name() string {
	if name, ok := b.called.Load().(string); ok {
		return name
	}
	return matrix.DisplayName
}

// isOwner tells whether a user is one of the operator's.
func (b *Bot) isOwner(user string) bool { return slices.Contains(b.Owners, user) }

// mayUse tells whether a user may use the bot in a room.
func (b *Bot) mayUse(room, user string, direct bool) policy.Decision {
	return b.policy.Decide(policy.Query{Room: room, Sender: user, Owners: b.Owners, Allow: b.Allow, Direct: direct, Mentioned: true})
}
