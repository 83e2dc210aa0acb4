package event

import "encoding/json"

// Types of events that we read, by their names in the specification.
const (
	TypeMessage    = "m.room.message"
	TypeSticker    = "m.sticker"
	TypeReaction   = "m.reaction"
	TypeRedaction  = "m.room.redaction"
	TypeMember     = "m.room.member"
	TypeTombstone  = "m.room.tombstone"
	TypeEncrypted  = "m.room.encrypted"
	TypeEncryption = "m.room.encryption"
	TypeVisibility = "m.room.history_visibility"
	TypeCreate     = "m.room.create"
	TypeName       = "m.room.name"
	TypeDirect     = "m.direct" // account data
)

// OwnTypes begins the types and keys that only this program writes. Nobody can
// send us an event of such a type.
const OwnTypes = "io.matrix-tui."

// TxnKey is where a message of ours carries its transaction ID, so that its
// echo is recognised without a key.
const TxnKey = OwnTypes + "txn"

// DecryptedKey marks an event that our own device has decrypted. [FromServer]
// rejects events that come with it.
const DecryptedKey = OwnTypes + "encrypted"

// Event is an event as we understand it. Strings are what others wrote.
type Event struct {
	ID       string
	Type     string
	Sender   string
	StateKey *string // nil for what is no state event
	Room     string  // where it was said, if the event tells
	Time     int64   // origin_server_ts, in milliseconds
	// Decrypted tells that our device has decrypted the event, so that the
	// sender is proven and not only what the homeserver says.
	Decrypted bool
	// Transaction is of the message of ours that this is the echo of. It means
	// nothing unless the sender is this account.
	Transaction string
	// Content is the content as it came; Decode has checked its keys.
	Content json.RawMessage
	// Raw is the whole event as it came.
	Raw json.RawMessage

	content    object
	redacts    string // before room version 11
	membership string // before this one, of unsigned.prev_content
}

// Message is the content of an m.room.message or an m.sticker.
type Message struct {
	MsgType    string
	Body       string
	FileName   string
	NewContent Text
	RelatesTo  Relation
}

// Text is what an edit puts in the place of a message.
type Text struct{ MsgType, Body, FileName string }

// Relation is what an event says about another one (m.relates_to).
type Relation struct {
	RelType   string
	EventID   string
	Key       string // of an annotation: the reaction
	Fallback  bool   // the reply is for clients without threads
	InReplyTo string
}

// Member is the content of an m.room.member.
type Member struct {
	Membership string
	IsDirect   bool
}

// About is the event that a message speaks to: the root of its thread, or what
// it replies to; "" for one that stands for itself.
func (r Relation) About() string {
	if r.RelType == "m.thread" {
		return r.EventID
	}
	return r.InReplyTo
}

// IsFile tells whether a message carries a file.
func (m Message) IsFile() bool { return isFile(m.MsgType) }

// Caption is what was written under a file: its body, where that is not the
// file's name.
func (m Message) Caption() string { return Text{m.MsgType, m.Body, m.FileName}.caption() }

// Words is what the person says now; of a file, its caption.
func (t Text) Words() string {
	if isFile(t.MsgType) {
		return t.caption()
	}
	return t.Body
}

func (t Text) caption() string {
	if t.FileName == "" || t.FileName == t.Body {
		return ""
	}
	return t.Body
}

func isFile(msgType string) bool {
	switch msgType {
	case "m.image", "m.file", "m.audio", "m.video", TypeSticker:
		return true
	}
	return false
}

// IsSpoken tells whether people say something by events of a type.
func IsSpoken(eventType string) bool { return eventType == TypeMessage || eventType == TypeSticker }

// Message gives the event as a message, a sticker too. ok is false for any
// other event and for one without a type of message.
func (e Event) Message() (m Message, ok bool) {
	if !IsSpoken(e.Type) || e.StateKey != nil || e.content == nil {
		return m, false
	}
	c := e.content
	next := c.object("m.new_content")
	m = Message{
		MsgType: c.text("msgtype"), Body: c.text("body"), FileName: c.text("filename"), RelatesTo: relation(c),
		NewContent: Text{next.text("msgtype"), next.text("body"), next.text("filename")},
	}
	if e.Type == TypeSticker {
		m.MsgType = TypeSticker
	}
	return m, m.MsgType != ""
}

func relation(content object) Relation {
	r := content.object("m.relates_to")
	return Relation{
		RelType: r.text("rel_type"), EventID: r.text("event_id"), Key: r.text("key"), Fallback: r.flag("is_falling_back"),
		InReplyTo: r.object("m.in_reply_to").text("event_id"),
	}
}

// Reaction gives the event as a reaction to another one.
func (e Event) Reaction() (r Relation, ok bool) {
	if e.Type != TypeReaction || e.StateKey != nil {
		return r, false
	}
	r = relation(e.content)
	return r, r.RelType == "m.annotation" && r.EventID != "" && r.Key != ""
}

// Redaction is the event that an event takes back, "" for none. It stands in
// the content since room version 11.
func (e Event) Redaction() string {
	if e.Type != TypeRedaction || e.StateKey != nil {
		return ""
	}
	if redacts := e.content.text("redacts"); redacts != "" {
		return redacts
	}
	return e.redacts
}

// Member gives the event as a membership; user is whose it is.
func (e Event) Member() (user string, m Member, ok bool) {
	if e.Type != TypeMember || e.StateKey == nil || e.content == nil {
		return "", m, false
	}
	return *e.StateKey, Member{e.content.text("membership"), e.content.flag("is_direct")}, true
}

// InvitesDirectly tells whether an invitation is to a direct chat.
func (e Event) InvitesDirectly() bool { return e.content.flag("is_direct") }

// MembershipChange is what an event changes about user's membership: "join",
// "leave" (also by a ban), or "" for nothing, such as a new display name.
func (e Event) MembershipChange(user string) string {
	whose, m, ok := e.Member()
	if !ok || whose != user || m.Membership == e.membership {
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

// Successor is the room that a tombstone names, "" for none.
func (e Event) Successor() string {
	if e.Type != TypeTombstone || e.StateKey == nil || *e.StateKey != "" {
		return ""
	}
	return e.content.text("replacement_room")
}

// RoomName is what an m.room.name calls the room, "" for any other event.
func (e Event) RoomName() string {
	if e.Type != TypeName || e.StateKey == nil || *e.StateKey != "" {
		return ""
	}
	return e.content.text("name")
}

// Predecessor is the room that an m.room.create says to continue, "" for none.
func (e Event) Predecessor() string {
	if e.Type != TypeCreate || e.StateKey == nil || *e.StateKey != "" {
		return ""
	}
	return e.content.object("predecessor").text("room_id")
}

// Visibility is what an m.room.history_visibility sets, "" for any other event.
func (e Event) Visibility() string {
	if e.Type != TypeVisibility || e.StateKey == nil || *e.StateKey != "" {
		return ""
	}
	return e.content.text("history_visibility")
}
