package bot

import (
	"context"
	"slices"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/policy"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// hear returns a function that applies the policy to a room's events. alone says
// that the bot and one other person are the room's only members.
func (b *Bot) hear(ctx context.Context, room string, alone bool) func(event.Event) policy.Decision {
	return func(e event.Event) policy.Decision {
		q := b.query(ctx, room, e)
		q.Alone = alone
		return b.policy.Decide(q)
	}
}

// query describes an event to the policy.
func (b *Bot) query(ctx context.Context, room string, e event.Event) policy.Query {
	q := policy.Query{Room: room, Sender: e.Sender, Owners: b.Owners, Allow: b.Allow, Direct: b.isDirect(room)}
	m, ok := e.Message()
	if !ok {
		q.Mentioned = true // what is not a message, such as a reaction, needs no mention
		return q
	}
	text := taskText(m)
	_, _, command := parseCommand(text)
	q.Command = command || misspelt(text) != ""
	if m.IsEdit() {
		q.Mentioned = true // an edit matters only if the original was for the bot
		return q
	}
	q.Mentioned = policy.Mentioned(m, b.UserID(), b.name()) || b.isToBot(ctx, room, m)
	return q
}

// isToBot reports whether a message replies to one of the bot's messages or is in
// a thread that one of them started.
func (b *Bot) isToBot(ctx context.Context, room string, m event.Message) bool {
	about := m.RelatesTo.About()
	if about == "" {
		return false
	}
	_, err := b.Journal.MessageOf(ctx, room, about)
	return err == nil
}

// trim drops what an event says if its sender may not use the bot. What remains serves
// deduplication and the order of events; a quotation fetches the message again.
func (b *Bot) trim(row state.Event) state.Event {
	if b.isSelf(row.Sender) || b.mayUse(row.Room, row.Sender, b.isDirect(row.Room)).Heard {
		return row
	}
	switch {
	case row.Undecrypted() && row.Status != state.Pending:
		row.Encryption, row.Session, row.Distrust, row.Raw = event.Undecryptable, "", "", nil
	case row.Status != state.Pending:
		row.Body = event.Body{Member: row.Body.Member}
	case row.Body.Message != nil: // the sender gets a pairing code
		row.Body.Message = &event.Message{MsgType: row.Body.Message.MsgType}
	}
	return row
}

// couldAnswer reports whether a message may answer an open question and so needs
// no mention.
func (r *room) couldAnswer(e event.Event) bool {
	return r.bot.waits.AskedOf(r.id, e.Sender, e.Relation().Thread())
}

// name returns the bot's display name.
func (b *Bot) name() string {
	if name, ok := b.called.Load().(string); ok {
		return name
	}
	return matrix.DisplayName
}

// isOwner reports whether a user is one of the owners.
func (b *Bot) isOwner(user string) bool { return slices.Contains(b.Owners, user) }

// mayUse decides whether a user may use the bot in a room.
func (b *Bot) mayUse(room, user string, direct bool) policy.Decision {
	return b.policy.Decide(policy.Query{Room: room, Sender: user, Owners: b.Owners, Allow: b.Allow, Direct: direct, Mentioned: true})
}
