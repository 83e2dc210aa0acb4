package bot

import (
	"context"
	"slices"

	"matrix-tui/bot/command"
	"matrix-tui/bot/policy"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// query describes an event to the policy.
func (b *Bot) query(ctx context.Context, room string, e event.Event) policy.Query {
	q := policy.Query{Room: room, Sender: e.Sender, Owners: b.Owners, Allow: b.Allow, Direct: b.roster.IsDirect(room)}
	m, ok := e.Message()
	if !ok {
		q.Mentioned = true // what is not a message, such as a reaction, needs no mention
		return q
	}
	if m.IsEdit() {
		q.Mentioned = true // an edit matters only if the original was for the bot, or if it mentions the bot now
		return q
	}
	_, _, q.Command = command.Parse(m.Words())
	switch b.addressee(m) {
	case policy.TheBot:
		q.Mentioned = true
	case policy.Nobody:
		q.Mentioned = b.isToBot(ctx, room, m)
	}
	return q
}

// addressee returns whom a message addresses by name.
func (b *Bot) addressee(m event.Message) policy.Addressee {
	return policy.Addressed(m, b.UserID(), b.profile.Name())
}

// isToBot reports whether a message replies to one of the bot's messages or is in
// a thread that one of them started, or that has a task.
func (b *Bot) isToBot(ctx context.Context, room string, m event.Message) bool {
	for _, about := range []string{m.RelatesTo.ReplyTo(), m.RelatesTo.Thread()} {
		if about == "" {
			continue
		}
		if _, err := b.Journal.Messages.Of(ctx, room, about); err == nil {
			return true
		}
	}
	root := m.RelatesTo.Thread()
	if root == "" {
		return false
	}
	works, err := b.Journal.Tasks.InThread(ctx, room, root)
	return err == nil && works
}

// understood notes in a message what depends on who the bot is: whether it is from another bot of this kind, and the
// command that follows the bot's name, as in "@bot !stop".
func (b *Bot) understood(e event.Event) event.Event {
	m, ok := e.Message()
	if !ok || b.isSelf(e.Sender) {
		return e
	}
	if m.Automatic = e.Transaction != ""; m.Automatic {
		e.Body.Message = &m
	}
	said := m.Words()
	if m.IsEdit() {
		said = m.NewWords()
	}
	rest, named := policy.AfterName(said, b.UserID(), b.profile.Name())
	if named && command.HasForm(rest) {
		m.Command = rest
		e.Body.Message = &m
	}
	return e
}

// trim drops what an event says if its sender may not use the bot. What remains serves
// deduplication and the order of events; a quotation fetches the message again.
func (b *Bot) trim(row state.Event) state.Event {
	if b.isSelf(row.Sender) || b.mayUse(row.Room, row.Sender, b.roster.IsDirect(row.Room)).Heard {
		return row
	}
	switch {
	case row.Undecrypted() && row.Status != state.Pending:
		row.Encryption, row.Session, row.Distrust, row.Raw = event.Undecryptable, "", "", nil
	default:
		row.Body = event.Body{Member: row.Body.Member}
	}
	return row
}

// couldAnswer reports whether a message may answer an open question and so needs
// no mention.
func (r *room) couldAnswer(e event.Event) bool {
	return r.bot.waits.AskedOf(r.id, e.Sender, e.Relation().Thread())
}

// isOwner reports whether a user is one of the owners.
func (b *Bot) isOwner(user string) bool { return slices.Contains(b.Owners, user) }

// mayUse decides whether a user may use the bot in a room.
func (b *Bot) mayUse(room, user string, direct bool) policy.Decision {
	return b.policy.Decide(policy.Query{Room: room, Sender: user, Owners: b.Owners, Allow: b.Allow, Direct: direct, Mentioned: true})
}
