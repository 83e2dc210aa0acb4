package bot

import (
	"slices"
	"strings"

	"matrix-tui/bot/policy"
	"matrix-tui/bot/update"
	"matrix-tui/state/event"
)

// kind is what the bot does with an event.
type kind int

const (
	kindArchive       kind = iota // kept as context only
	kindTask                      // a task, or an answer to a question: see route
	kindCommand                   // a !word
	kindReaction                  // a reaction to a message
	kindEdit                      // somebody else's message was edited
	kindRedaction                 // somebody else's event was redacted
	kindStranger                  // a message from an unknown user, who gets a pairing code
	kindInVain                    // a message to the bot from somebody whom it does not work for in this room
	kindJoined                    // somebody else has joined
	kindUnsupported               // a type of message that we cannot process
	kindUndecrypted               // its key is missing, or its device is not trusted
	kindUndecryptable             // it will never be decrypted
	kindUnproven                  // it needs a proof and has none: see mustProve
	kindCopy                      // its sender has sent it again meanwhile: see isCopy
	kindGreeting                  // we have joined
	kindLeft                      // somebody else has left
	kindGone                      // we have been removed
	kindTombstone                 // the room was replaced
	kindInvite                    // we were invited
)

// typeExecute is the type of the event that represents a task submitted by HTTP.
const typeExecute = event.OwnTypes + "execute"

// classify decides what an event is to the bot. It is a pure function, so an event
// that is read from the journal after a restart is classified the same way.
func classify(e event.Event, self string, decide func(event.Event) policy.Decision) kind {
	switch e.Type {
	case event.TypeInvite:
		return kindInvite
	case event.TypeGone:
		return kindGone
	case event.TypeTombstone:
		if e.IsState(e.Type) {
			return kindTombstone
		}
	case event.TypeMember:
		user, m, ok := e.Member()
		switch {
		case e.MembershipChange(self) == "join":
			return kindGreeting
		case ok && user != self && (m.Membership == "leave" || m.Membership == "ban"):
			return kindLeft
		case ok && user != self && e.MembershipChange(user) == "join":
			return kindJoined
		}
	case event.TypeEncrypted:
		d := decide(e)
		switch {
		case e.Sender == self:
		case e.Undecrypted() && (d.Heard || d.Pair):
			return kindUndecrypted
		case (e.Encryption == event.Undecryptable || e.Encryption == event.Copy) && d.Heard:
			return kindUndecryptable
		}
	case event.TypeRedaction:
		if e.Redaction() != "" && e.Sender != self {
			return kindRedaction
		}
	case event.TypeReaction:
		if _, ok := e.Reaction(); ok && e.Sender != self {
			if d := decide(e); d.Heard && d.Reason != policy.ReasonOwnerOnly {
				return kindReaction
			}
		}
	case event.TypeMessage, event.TypeSticker, event.TypePoll, event.TypePollEarly:
		if m, ok := e.Message(); ok && e.Sender != self && !m.Automatic && m.MsgType != "m.notice" && m.MsgType != event.MsgVerification {
			switch d := decide(e); {
			case d.Heard && d.Reply:
				return classifyMessage(m)
			case d.Pair:
				return kindStranger
			case d.Told && !m.IsEdit():
				return kindInVain
			}
		}
	}
	return kindArchive
}

// classifyMessage is classify for a message to the bot from somebody who may use
// it.
func classifyMessage(m event.Message) kind {
	spoken := slices.Contains([]string{"m.text", "m.emote", "m.location", event.MsgPoll}, m.MsgType)
	switch {
	case m.MsgType == "m.notice":
		return kindArchive
	case m.IsEdit():
		if m.NewContent == nil || m.NewContent.Body == "" {
			return kindArchive
		}
		return kindEdit
	case !spoken && !m.IsFile():
		return kindUnsupported
	case spoken && strings.TrimSpace(m.Body) == "":
		return kindArchive
	}
	text := taskText(m)
	if c, rest, ok := parseCommand(text); ok && (c.run != nil || rest == "") || isUnknown(text) || update.Wanted(text) {
		return kindCommand
	}
	return kindTask
}

// taskText returns what a person wrote, without the quote that older clients put
// before a reply. For a file it returns the caption, and of a command that follows the bot's name only the command.
func taskText(m event.Message) string {
	if m.Command != "" {
		return m.Command
	}
	body := m.Body
	if m.IsFile() {
		body = m.Caption()
	}
	if m.RelatesTo.InReplyTo != "" && (strings.HasPrefix(body, "> <") || strings.HasPrefix(body, "> * <")) {
		lines := strings.Split(body, "\n")
		for len(lines) > 0 && strings.HasPrefix(lines[0], "> ") {
			lines = lines[1:]
		}
		if rest := strings.TrimSpace(strings.Join(lines, "\n")); rest != "" {
			body = rest
		}
	}
	return body
}
