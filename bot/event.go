package bot

import (
	"encoding/json"
	"strings"
	"time"

	"matrix-tui/state"
)

// txnKey marks our own messages with their transaction ID, so that one is
// known again when it comes back by /sync, even from a homeserver that has
// forgotten which transactions it has seen.
const txnKey = "io.matrix-tui.txn"

// wireEvent is what we read of a room event; the rest of it stays in the raw
// bytes. Anything may stand in it: other people wrote it.
type wireEvent struct {
	ID       string          `json:"event_id"`
	Type     string          `json:"type"`
	Sender   string          `json:"sender"`
	StateKey *string         `json:"state_key"`
	Time     int64           `json:"origin_server_ts"`
	Content  json.RawMessage `json:"content"`
	Unsigned struct {
		TransactionID string     `json:"transaction_id"`
		PrevContent   wireMember `json:"prev_content"`
	} `json:"unsigned"`
}

// wireMessage is the content of an m.room.message as far as we read it.
type wireMessage struct {
	MsgType   string `json:"msgtype"`
	Body      string `json:"body"`
	Txn       string `json:"io.matrix-tui.txn"`
	RelatesTo struct {
		RelType   string `json:"rel_type"`
		EventID   string `json:"event_id"`
		InReplyTo struct {
			EventID string `json:"event_id"`
		} `json:"m.in_reply_to"`
	} `json:"m.relates_to"`
}

// wireMember is the content of an m.room.member.
type wireMember struct {
	Membership string `json:"membership"`
	IsDirect   bool   `json:"is_direct"`
}

// wireTombstone is the content of an m.room.tombstone.
type wireTombstone struct {
	ReplacementRoom string `json:"replacement_room"`
}

// parseEvent reads one event; ok is false when it lacks what each event has.
func parseEvent(raw json.RawMessage) (e wireEvent, ok bool) {
	if err := json.Unmarshal(raw, &e); err != nil {
		return e, false
	}
	return e, e.ID != "" && e.Type != "" && e.Sender != ""
}

// message reads the event as a message; ok is false for any other event and
// for content of another shape.
func (e wireEvent) message() (m wireMessage, ok bool) {
	if e.Type != "m.room.message" || e.StateKey != nil {
		return m, false
	}
	if err := json.Unmarshal(e.Content, &m); err != nil {
		return m, false
	}
	return m, m.MsgType != ""
}

// member reads the event as a membership; user is whose it is.
func (e wireEvent) member() (user string, m wireMember, ok bool) {
	if e.Type != "m.room.member" || e.StateKey == nil {
		return "", m, false
	}
	err := json.Unmarshal(e.Content, &m)
	return *e.StateKey, m, err == nil
}

// ownMembership tells what an event changes about user's membership: "join",
// "leave" (also by ban), or "" for nothing, such as a new display name.
func (e wireEvent) ownMembership(user string) string {
	whose, m, ok := e.member()
	if !ok || whose != user || m.Membership == e.Unsigned.PrevContent.Membership {
		return ""
	}
	switch m.Membership {
	case "join", "leave":
		return m.Membership
	case "ban":
		return "leave"
	}
	return ""
}

// kind is what the bot does with an event.
type kind int

const (
	kindArchive     kind = iota // kept as context, nothing to do
	kindTask                    // work for the agent
	kindUnsupported             // a person sent what we cannot read yet: say so
	kindGreeting                // we have joined: say hello
	kindLeft                    // somebody else has gone
	kindGone                    // we have been removed
	kindTombstone               // the room goes on elsewhere
	kindInvite                  // we are asked to join
)

// Rows of these types stand for things that /sync tells without an event of
// their own.
const (
	typeInvite = "io.matrix-tui.invite"
	typeGone   = "io.matrix-tui.gone"
)

// classify decides what an event is to us. It is pure: the same event gives
// the same answer when it is read from the journal after a restart.
func classify(e wireEvent, self string, allowed func(user string) bool) kind {
	switch e.Type {
	case typeInvite:
		return kindInvite
	case typeGone:
		return kindGone
	case "m.room.tombstone":
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
	case "m.room.encrypted":
		if e.Sender != self && allowed(e.Sender) {
			return kindUnsupported
		}
	case "m.room.message":
		m, ok := e.message()
		if !ok || e.Sender == self || !allowed(e.Sender) || m.MsgType == "m.notice" || m.RelatesTo.RelType == "m.replace" {
			return kindArchive
		}
		if m.MsgType != "m.text" && m.MsgType != "m.emote" {
			return kindUnsupported
		}
		if strings.TrimSpace(m.Body) == "" {
			return kindArchive
		}
		return kindTask
	}
	return kindArchive
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

// allowed tells whether a user may use the bot: an owner, or one whose full ID
// matches an entry; `@*:server` stands for everybody of that server.
func (c *Config) allowed(user string) bool {
	entries := c.Owners
	if len(c.Allow) > 0 {
		entries = append(append([]string{}, c.Owners...), c.Allow...)
	}
	for _, entry := range entries {
		if entry == user {
			return true
		}
		server, glob := strings.CutPrefix(entry, "@*:")
		if glob {
			_, of, found := strings.Cut(user, ":")
			if found && strings.HasPrefix(user, "@") && (of == server || server == "*") {
				return true
			}
		}
	}
	return false
}

// taskText is what a person wrote, without the quotation that old clients put
// before a reply.
func taskText(m wireMessage) string {
	body := m.Body
	if m.RelatesTo.InReplyTo.EventID != "" && strings.HasPrefix(body, "> <") {
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
