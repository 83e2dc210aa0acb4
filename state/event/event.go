// Package event holds Matrix events as this program understands them. An [Event]
// is decoded once, from the bytes that the homeserver sent (bot/matrix/decode),
// or from what was encrypted (bot/matrix/e2ee), and it is stored as it stands
// here. Whoever gets one need not, and cannot, look at Matrix JSON again.
//
// The package contains types only: it reads nothing and decides nothing about
// who may do what.
package event

import (
	"encoding/json"
	"time"
)

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

// Types of events that this program makes itself, for things that come without an
// event of their own.
const (
	TypeInvite = OwnTypes + "invite" // an invitation to the bot
	TypeGone   = OwnTypes + "gone"   // the bot is no longer in the room
)

// TxnKey is where a message of ours carries its transaction ID, so that its
// echo is recognised without a key.
const TxnKey = OwnTypes + "txn"

// MsgVerification is the msgtype of a message that asks for a verification.
const MsgVerification = "m.key.verification.request"

// Encryption tells how an event came, and so how far its sender and its words can
// be relied on.
type Encryption string

const (
	// Unencrypted is an event in clear, of a room or a type that is not encrypted.
	Unencrypted Encryption = ""
	// Cleartext is a message in clear in an encrypted room. Clients encrypt
	// there, so a broken client or the homeserver wrote it.
	Cleartext Encryption = "cleartext"
	// Decrypted is an event that our own device decrypted: its sender is proven.
	Decrypted Encryption = "decrypted"
	// MissingKey is an encrypted event whose key is not there yet.
	MissingKey Encryption = "missing key"
	// Untrusted is an encrypted event of a device that is not trusted yet.
	Untrusted Encryption = "untrusted"
	// Undecryptable is an encrypted event that can never be decrypted.
	Undecryptable Encryption = "undecryptable"
	// Undecoded is an event that an earlier release stored as it came.
	Undecoded Encryption = "undecoded"
)

// Event is an event as we understand it. Strings are what others wrote.
type Event struct {
	ID       string
	Type     string
	Sender   string
	StateKey *string // nil for what is no state event
	Room     string  // in whose timeline it stands
	// Home is the room that it was sent to, where that is not Room: events that
	// are not done move with their room.
	Home       string
	Time       time.Time // origin_server_ts, in ms
	Encryption Encryption
	// Session is the Megolm session of an event that is MissingKey or Untrusted.
	Session string
	// Distrust is why the device of an Untrusted event is not trusted.
	Distrust string
	Body     Body
	// Raw is the event as it came. The record keeps it while Undecrypted.
	Raw json.RawMessage
	// Content is the content as it came, checked. The record does not keep it.
	Content json.RawMessage
	// Transaction is of the message of ours that this is the echo of. It means
	// nothing unless the sender is this account. The record does not keep it.
	Transaction string
}

// Body is what an event says, by its type; the other fields are zero.
type Body struct {
	Message     *Message  `json:"message,omitzero"`     // m.room.message, m.sticker
	Reaction    *Relation `json:"reaction,omitzero"`    // m.reaction
	Redacts     string    `json:"redacts,omitzero"`     // m.room.redaction: an event ID
	Member      *Member   `json:"member,omitzero"`      // m.room.member, TypeInvite
	Successor   string    `json:"successor,omitzero"`   // m.room.tombstone: a room ID
	Predecessor string    `json:"predecessor,omitzero"` // m.room.create: a room ID
	Visibility  string    `json:"visibility,omitzero"`  // m.room.history_visibility
	Name        string    `json:"name,omitzero"`        // m.room.name
}

// Undecrypted tells whether the event may be understood later: Raw is kept.
func (e Event) Undecrypted() bool {
	return e.Encryption == MissingKey || e.Encryption == Untrusted || e.Encryption == Undecoded
}

// SentTo is the room that the event was sent to.
func (e Event) SentTo() string {
	if e.Home != "" {
		return e.Home
	}
	return e.Room
}

// Moved tells whether the event stands in a room before this one: nothing here
// can reply to it.
func (e Event) Moved() bool { return e.SentTo() != e.Room }

// Relation is what the event says about another one, zero for nothing.
func (e Event) Relation() Relation {
	switch {
	case e.Body.Message != nil:
		return e.Body.Message.RelatesTo
	case e.Body.Reaction != nil:
		return *e.Body.Reaction
	}
	return Relation{}
}

// Spoken tells whether somebody says something by the event, in a way that may
// be obeyed.
func (e Event) Spoken() bool { return IsSpoken(e.Type) && e.Encryption != Cleartext }

// IsSpoken tells whether people say something by events of a type.
func IsSpoken(eventType string) bool { return eventType == TypeMessage || eventType == TypeSticker }

// Message gives the event as a message, a sticker too. ok is false for any
// other event, for one without a msgtype, and for a message in clear where it
// should have been encrypted.
func (e Event) Message() (m Message, ok bool) {
	if e.Body.Message == nil || e.StateKey != nil || !e.Spoken() {
		return m, false
	}
	return *e.Body.Message, e.Body.Message.MsgType != ""
}

// Reaction gives the event as a reaction to another one.
func (e Event) Reaction() (r Relation, ok bool) {
	if e.Body.Reaction == nil || e.StateKey != nil {
		return r, false
	}
	r = *e.Body.Reaction
	return r, r.RelType == "m.annotation" && r.EventID != "" && r.Key != ""
}

// Redaction is the event that an event takes back, "" for none.
func (e Event) Redaction() string {
	if e.StateKey != nil {
		return ""
	}
	return e.Body.Redacts
}

// Member gives the event as a membership; user is whose it is.
func (e Event) Member() (user string, m Member, ok bool) {
	if e.Type != TypeMember || e.StateKey == nil || e.Body.Member == nil {
		return "", m, false
	}
	return *e.StateKey, *e.Body.Member, true
}

// InvitesDirectly tells whether an invitation is to a direct chat.
func (e Event) InvitesDirectly() bool { return e.Body.Member != nil && e.Body.Member.IsDirect }

// MembershipChange is what an event changes about user's membership: "join",
// "leave" (also by a ban), or "" for nothing, such as a new display name.
func (e Event) MembershipChange(user string) string {
	whose, m, ok := e.Member()
	if !ok || whose != user || m.Membership == m.Before {
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

// IsState tells whether an event is the room's state of a type, with an empty
// state key.
func (e Event) IsState(eventType string) bool {
	return e.Type == eventType && e.StateKey != nil && *e.StateKey == ""
}
