// Package event defines decoded Matrix events. An [Event] is decoded once, by
// bot/matrix/decode or, if it was encrypted, by bot/matrix/e2ee, and stored in this
// form. No other code reads Matrix JSON.
//
// The package contains only types and their accessors. It parses nothing and never
// decides who may do what.
package event

import (
	"encoding/json"
	"time"
)

// Types of events that we read, as named in the specification.
const (
	TypeMessage    = "m.room.message"
	TypeSticker    = "m.sticker"
	TypePoll       = "m.poll.start"
	TypePollEarly  = "org.matrix.msc3381.poll.start" // what clients send before they know TypePoll
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

// OwnTypes is the prefix of types and keys that only this program uses. Events of such
// a type are rejected if they come from the homeserver.
const OwnTypes = "io.matrix-tui."

// Types of events that this program creates itself, for things without an event of
// their own.
const (
	TypeInvite = OwnTypes + "invite" // an invitation to the bot
	TypeGone   = OwnTypes + "gone"   // the bot is no longer in the room
	TypeLost   = OwnTypes + "lost"   // a decided event that a damaged journal has lost
)

// TxnKey is the key in the content of our messages that holds the transaction ID, so
// that we recognise an echo without decrypting it.
const TxnKey = OwnTypes + "txn"

// MsgVerification is the msgtype of a verification request.
const MsgVerification = "m.key.verification.request"

// Encryption says how an event was protected, and so how far its sender and content can
// be trusted. The values are stored.
type Encryption string

const (
	// Unencrypted is an unencrypted event in an unencrypted room, or of a type that is
	// never encrypted.
	Unencrypted Encryption = ""
	// Cleartext is an unencrypted message in an encrypted room. Clients encrypt there,
	// so it is from a broken client or from the homeserver.
	Cleartext Encryption = "cleartext"
	// Decrypted is an event that our device has decrypted: its sender is proven as far as the
	// rule for devices goes.
	Decrypted Encryption = "decrypted"
	// Verified is Decrypted, and its sender's cross-signing identity has signed the device: no
	// homeserver can have made it after the first contact.
	Verified Encryption = "verified"
	// MissingKey is an encrypted event whose key has not arrived yet.
	MissingKey Encryption = "missing key"
	// Untrusted is an encrypted event from a device that is not trusted yet.
	Untrusted Encryption = "untrusted"
	// Undecryptable is an encrypted event that can never be decrypted.
	Undecryptable Encryption = "undecryptable"
	// Copy is an encrypted event with the ciphertext of an event before it: the homeserver
	// has taken a message twice, or replays it. It is never decrypted.
	Copy Encryption = "copy"
)

// Event is a decoded event. Its strings are untrusted input.
type Event struct {
	ID       string
	Type     string
	Sender   string
	StateKey *string // nil if it is not a state event
	Room     string  // the room in whose timeline it is
	// Home is the room that it was sent to, or "" if that is Room. They differ after a
	// room upgrade, which moves pending events to the new room.
	Home       string
	Time       time.Time // origin_server_ts, in ms
	Encryption Encryption
	// Session is the Megolm session of a MissingKey or Untrusted event.
	Session string
	// Distrust is why the device of an Untrusted event is not trusted.
	Distrust string
	Body     Body
	// Raw is the event as received. It is stored while the event is Undecrypted.
	Raw json.RawMessage
	// Content is the content as received, with checked keys. It is not stored.
	Content json.RawMessage
	// Transaction is the transaction ID if this is the echo of one of our messages. It is
	// meaningful only if this account is the sender. It is not stored.
	Transaction string
}

// Body is the decoded content. Only the field for the event's type is set.
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

// Undecrypted reports whether the event may be decrypted later.
func (e Event) Undecrypted() bool {
	return e.Encryption == MissingKey || e.Encryption == Untrusted
}

// IsDecrypted reports whether our device has decrypted the event.
func (e Event) IsDecrypted() bool { return e.Encryption == Decrypted || e.Encryption == Verified }

// SentTo returns the room that the event was sent to.
func (e Event) SentTo() string {
	if e.Home != "" {
		return e.Home
	}
	return e.Room
}

// Moved reports whether the event was sent to a predecessor of Room, so that messages
// in Room cannot reply to it.
func (e Event) Moved() bool { return e.SentTo() != e.Room }

// Relation returns the relation to another event, or the zero Relation.
func (e Event) Relation() Relation {
	switch {
	case e.Body.Message != nil:
		return e.Body.Message.RelatesTo
	case e.Body.Reaction != nil:
		return *e.Body.Reaction
	}
	return Relation{}
}

// Spoken reports whether the event is a message that may be acted on.
func (e Event) Spoken() bool { return IsSpoken(e.Type) && e.Encryption != Cleartext }

// IsSpoken reports whether events of a type are messages.
func IsSpoken(eventType string) bool {
	return eventType == TypeMessage || eventType == TypeSticker || eventType == TypePoll || eventType == TypePollEarly
}

// Message returns the content of a message or sticker. ok is false for other events,
// for a message without a msgtype, and for a Cleartext one.
func (e Event) Message() (m Message, ok bool) {
	if e.Body.Message == nil || e.StateKey != nil || !e.Spoken() {
		return m, false
	}
	return *e.Body.Message, e.Body.Message.MsgType != ""
}

// Reaction returns the relation of a reaction; ok is false for other events.
func (e Event) Reaction() (r Relation, ok bool) {
	if e.Body.Reaction == nil || e.StateKey != nil {
		return r, false
	}
	r = *e.Body.Reaction
	return r, r.RelType == "m.annotation" && r.EventID != "" && r.Key != ""
}

// Redaction returns the ID of the redacted event, or "".
func (e Event) Redaction() string {
	if e.StateKey != nil {
		return ""
	}
	return e.Body.Redacts
}

// Member returns the user and content of a membership event; ok is false for other
// events.
func (e Event) Member() (user string, m Member, ok bool) {
	if e.Type != TypeMember || e.StateKey == nil || e.Body.Member == nil {
		return "", m, false
	}
	return *e.StateKey, *e.Body.Member, true
}

// InvitesDirectly reports whether an invitation is to a direct chat.
func (e Event) InvitesDirectly() bool { return e.Body.Member != nil && e.Body.Member.IsDirect }

// MembershipChange returns how an event changes user's membership: "join", "leave"
// (also for a ban), or "" for no change, such as a new display name.
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

// IsState reports whether an event is a state event of a type, with an empty state key.
func (e Event) IsState(eventType string) bool {
	return e.Type == eventType && e.StateKey != nil && *e.StateKey == ""
}
