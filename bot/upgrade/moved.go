package upgrade

import (
	"matrix-tui/state"
)

// adapter adapts what moves to a room's successor: tasks get new keys, and messages
// no longer refer to events of the old room.
func adapter(to string) state.Adapter {
	return state.Adapter{
		Key:     func(event string) string { return state.KeyOf(to, event) },
		Message: adapted,
	}
}

// adapted adapts an unsent message for the room's successor. It drops a reference
// to an event of the old room, or refuses the message if that is all it consists
// of. A reference to another message of ours stays: it is resolved when the message
// is sent.
func adapted(m state.Message) state.Message {
	switch {
	case m.Kind == state.KindUpgrade:
		m.Status, m.Error = state.Refused, "it is about an upgrade that has been followed"
	case m.Target == "":
	case m.Says() && m.Relation != state.Edit:
		m.Relation, m.Target, m.Thread = "", "", ""
	default:
		m.Status, m.Error = state.Refused, "it refers to an event in the previous room"
	}
	return m
}
