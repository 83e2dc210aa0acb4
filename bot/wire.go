package bot

import (
	"encoding/json"

	"matrix-tui/bot/matrix/event"
)

// wireEvent is a decoded event.
type wireEvent struct{ event.Event }

type (
	wireMessage  = event.Message
	wireRelation = event.Relation
	wireMember   = event.Member
)

// typeSticker is the type of an event that shows a picture of a pack.
const typeSticker = event.TypeSticker

// isSpoken tells the types of events by which people say something.
func isSpoken(eventType string) bool { return event.IsSpoken(eventType) }

// parseEvent decodes an event of the journal; ok is false when it lacks what
// each event of a room has.
func parseEvent(raw json.RawMessage) (e wireEvent, ok bool) {
	decoded, err := event.Decode(raw)
	return wireEvent{decoded}, err == nil && decoded.ID != ""
}

func (e wireEvent) message() (wireMessage, bool)       { return e.Message() }
func (e wireEvent) reaction() (wireRelation, bool)     { return e.Reaction() }
func (e wireEvent) redaction() string                  { return e.Redaction() }
func (e wireEvent) member() (string, wireMember, bool) { return e.Member() }

func (e wireEvent) ownMembership(user string) string { return e.MembershipChange(user) }
