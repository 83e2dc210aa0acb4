package bot

import (
	"strings"

	"matrix-tui/state/event"
)

// kind is what the bot does with an event.
type kind int

const (
	kindArchive       kind = iota // kept as context, nothing to do
	kindTask                      // work for the agent, or an answer to its question: see route
	kindCommand                   // a !word
	kindReaction                  // a reaction to a message
	kindEdit                      // a message of somebody else's, changed
	kindRedaction                 // one that was taken back
	kindStranger                  // a message of somebody who is not known, in a direct chat
	kindUnsupported               // a person sent what we cannot read yet: say so
	kindUndecrypted               // its key is missing, or its device is not trusted
	kindUndecryptable             // it will never be decrypted
	kindGreeting                  // we have joined: say hello
	kindLeft                      // somebody else has gone
	kindGone                      // we have been removed
	kindTombstone                 // the room goes on elsewhere
	kindInvite                    // we are asked to join
)

// typeExecute is the type of the event that stands for a task that came by HTTP.
const typeExecute = event.OwnTypes + "execute"

// classify decides what an event is to us. It is pure: the same event gives
// the same answer when it is read from the journal after a restart.
func classify(e event.Event, self string, hear func(event.Event) hearing) kind {
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
		}
	case event.TypeEncrypted:
		h := hear(e)
		switch {
		case e.Sender == self:
		case e.Undecrypted() && (h.heard || h.pair):
			return kindUndecrypted
		case e.Encryption == event.Undecryptable && h.heard:
			return kindUndecryptable
		}
	case event.TypeRedaction:
		if e.Redaction() != "" && e.Sender != self {
			return kindRedaction
		}
	case event.TypeReaction:
		if _, ok := e.Reaction(); ok && e.Sender != self && hear(e).heard {
			return kindReaction
		}
	case event.TypeMessage, event.TypeSticker:
		if m, ok := e.Message(); ok && e.Sender != self && m.MsgType != "m.notice" && m.MsgType != event.MsgVerification {
			switch h := hear(e); {
			case h.heard && h.reply:
				return classifyMessage(m)
			case h.pair:
				return kindStranger
			}
		}
	}
	return kindArchive
}

// classifyMessage is classify for a message that is for the bot, by somebody who
// may use it.
func classifyMessage(m event.Message) kind {
	spoken := m.MsgType == "m.text" || m.MsgType == "m.emote"
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
	if c, rest, ok := parseCommand(text); ok && (c.run != nil || rest == "") || misspelt(text) != "" || wantsUpdate(text) {
		return kindCommand
	}
	return kindTask
}

// taskText is what a person wrote, without the quotation that old clients put
// before a reply; of a file, its caption.
func taskText(m event.Message) string {
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
