package bot

import (
	"encoding/json"
	"strings"
	"time"

	"matrix-tui/state"
)

// kind is what the bot does with an event.
type kind int

const (
	kindArchive     kind = iota // kept as context, nothing to do
	kindTask                    // work for the agent, or an answer to its question: see route
	kindCommand                 // a !word
	kindReaction                // a reaction to a message
	kindEdit                    // a message of somebody else's, changed
	kindRedaction               // one that was taken back
	kindStranger                // a message of somebody who is not known, in a direct chat
	kindUnsupported             // a person sent what we cannot read yet: say so
	kindSealed                  // it is encrypted, and its key is not there yet
	kindUnreadable              // it is encrypted, and will never be read
	kindGreeting                // we have joined: say hello
	kindLeft                    // somebody else has gone
	kindGone                    // we have been removed
	kindTombstone               // the room goes on elsewhere
	kindInvite                  // we are asked to join
)

const typeTombstone = "m.room.tombstone"

// Rows of these types stand for things that come without an event of their own.
const (
	ownTypes    = "io.matrix-tui."
	typeInvite  = ownTypes + "invite"
	typeGone    = ownTypes + "gone"
	typeExecute = ownTypes + "execute" // a task that came by HTTP; it is in line from the start
)

// classify decides what an event is to us. It is pure: the same event gives
// the same answer when it is read from the journal after a restart.
func classify(e wireEvent, self string, hear func(wireEvent) hearing) kind {
	switch e.Type {
	case typeInvite:
		return kindInvite
	case typeGone:
		return kindGone
	case typeTombstone:
		if e.StateKey != nil && *e.StateKey == "" {
			return kindTombstone
		}
	case "m.room.member":
		user, m, ok := e.member()
		switch {
		case e.ownMembership(self) == "join":
			return kindGreeting
		case ok && user != self && (m.Membership == "leave" || m.Membership == "ban"):
			return kindLeft
		}
	case typeSealed, typeUnreadable:
		if h := hear(e); e.Sender != self && (h.heard || h.pair && e.Type == typeSealed) {
			if e.Type == typeUnreadable {
				return kindUnreadable
			}
			return kindSealed
		}
	case "m.room.redaction":
		if e.redaction() != "" && e.Sender != self {
			return kindRedaction
		}
	case "m.reaction":
		if _, ok := e.reaction(); ok && e.Sender != self && hear(e).heard {
			return kindReaction
		}
	case "m.room.message", typeSticker:
		if m, ok := e.message(); ok && e.Sender != self && m.MsgType != "m.notice" && m.MsgType != verificationRequest {
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
func classifyMessage(m wireMessage) kind {
	spoken := m.MsgType == "m.text" || m.MsgType == "m.emote"
	switch {
	case m.MsgType == "m.notice":
		return kindArchive
	case m.RelatesTo.RelType == "m.replace":
		if m.NewContent.Body == "" {
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

// inbound makes the journal's row of an event.
func inbound(room string, e wireEvent, raw json.RawMessage, k kind) state.Inbound {
	status := state.Pending
	if k == kindArchive {
		status = state.Archived
	}
	return state.Inbound{
		Room: room, Event: e.ID, Sender: e.Sender, Type: e.Type,
		Time: time.UnixMilli(e.Time).UTC(), Raw: raw, Status: status,
	}
}

// taskText is what a person wrote, without the quotation that old clients put
// before a reply; of a file, its caption.
func taskText(m wireMessage) string {
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
