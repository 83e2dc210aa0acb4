package admit

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"matrix-tui/bot/command"
	"matrix-tui/bot/policy"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

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

// permitted returns the kind of an event, and whether it is for the bot. among is what the policy says if others are in
// the room, now what it says as things are; concerns reports whether the event may be about a task.
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

// Synthetic returns a row for something that has no event of its own, such as an
// invitation. The event ID depends on key, so that the same batch makes the same
// row again.
func Synthetic(room, kind, sender, key string, body event.Body) state.Event {
	sum := sha256.Sum256([]byte(kind + "\x00" + room + "\x00" + key))
	e := event.Event{ID: "$" + kind + "-" + hex.EncodeToString(sum[:12]), Type: kind, Sender: sender, Room: room,
		Time: time.Now().UTC(), Body: body}
	return state.Event{Status: state.Pending, Kind: kindOf(e, ""), Event: e}
}
