package bot

import (
	"context"
	"slices"
	"strings"

	"matrix-tui/bot/command"
	"matrix-tui/bot/policy"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// typeExecute is the type of the event that represents a task submitted by HTTP.
const typeExecute = event.OwnTypes + "execute"

// judged returns a row with its kind and its addressee, by the policy as it is now.
func (b *Bot) judged(ctx context.Context, row state.Event) state.Event {
	q := b.query(ctx, row.Room, row.Event)
	among := b.policy.Decide(q)
	q.Alone = b.roster.MayBeAlone(row.Room)
	concerns := func() bool { return b.room(row.Room).mayConcern(ctx, row.Event) }
	row.Kind, row.Addressee = permitted(kindOf(row.Event, b.UserID()), among, b.policy.Decide(q), concerns)
	return row
}

// kindOf returns what an event would be from somebody who may use the bot.
func kindOf(e event.Event, self string) event.Kind {
	switch e.Type {
	case event.TypeInvite:
		return event.KindInvite
	case event.TypeGone:
		return event.KindGone
	case event.TypeTombstone:
		if e.IsState(e.Type) {
			return event.KindTombstone
		}
	case event.TypeMember:
		user, m, ok := e.Member()
		switch {
		case e.MembershipChange(self) == "join":
			return event.KindEntered
		case ok && user != self && (m.Membership == "leave" || m.Membership == "ban"):
			return event.KindLeft
		case ok && user != self && e.MembershipChange(user) == "join":
			return event.KindJoined
		}
	}
	if e.Sender == self {
		return event.KindContext
	}
	_, reaction := e.Reaction()
	m, message := e.Message()
	switch {
	case e.Type == event.TypeEncrypted && e.Undecrypted():
		return event.KindUndecrypted
	case e.Type == event.TypeEncrypted && (e.Encryption == event.Undecryptable || e.Encryption == event.Copy):
		return event.KindUndecryptable
	case e.Redaction() != "":
		return event.KindRedaction
	case reaction:
		return event.KindReaction
	case message && !m.Automatic:
		return kindOfMessage(m)
	}
	return event.KindContext
}

// kindOfMessage is kindOf for a message.
func kindOfMessage(m event.Message) event.Kind {
	spoken := slices.Contains([]string{"m.text", "m.emote", "m.location", event.MsgPoll}, m.MsgType)
	switch {
	case m.MsgType == "m.notice" || m.MsgType == event.MsgVerification:
		return event.KindContext
	case m.IsEdit():
		if m.NewContent == nil || m.NewContent.Body == "" {
			return event.KindContext
		}
		return event.KindEdit
	case !spoken && !m.IsFile():
		return event.KindUnsupported
	case spoken && strings.TrimSpace(m.Body) == "":
		return event.KindContext
	}
	if command.IsMeant(m.Words()) {
		return event.KindCommand
	}
	if _, _, isTask := command.Parse(m.Words()); isTask {
		return event.KindTask
	}
	return event.KindMessage
}

// permitted returns the kind of an event, and whether it is for the bot, by what the policy says if there are others in the
// room and as things are; concerns reports whether it may be about a task.
func permitted(k event.Kind, among, now policy.Decision, concerns func() bool) (event.Kind, event.Addressee) {
	switch {
	case k == event.KindUndecrypted && (among.Heard || among.Pair),
		k == event.KindUndecryptable && among.Heard,
		k == event.KindReaction && among.Heard && among.Reason != policy.ReasonOwnerOnly:
		return k, ""
	case k == event.KindUndecrypted || k == event.KindUndecryptable || k == event.KindReaction:
		return event.KindContext, ""
	case k != event.KindEdit && !k.Asks():
		return k, ""
	case among.Reply:
		return k, event.ToBot
	case now.Reply:
		return k, event.ToBotIfAlone
	case (among.Reason == policy.ReasonNotMentioned || among.Reason == policy.ReasonOff) && concerns():
		return k, event.Perhaps
	case among.Pair:
		return event.KindStranger, ""
	case among.Told && k != event.KindEdit:
		return event.KindInVain, ""
	}
	return event.KindContext, ""
}

// mayConcern reports whether a message may answer an open question, stop a task or add a file to one, and so needs no
// mention; routeOf decides later whether it does that.
func (r *room) mayConcern(ctx context.Context, e event.Event) bool {
	m, _ := e.Message()
	return !command.IsForeign(m.Words()) && r.couldAnswer(e) || r.decider.Wanted(ctx, e, r.bot.UserID(), r.bot.profile.Name()) || m.IsFile() && r.bot.Debounce > 0
}
