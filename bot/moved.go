package bot

import (
	"cmp"
	"encoding/json"

	"matrix-tui/bot/task"
	"matrix-tui/state"
)

// adapter adapts what moves to a room's successor: tasks get new keys, and messages
// no longer refer to events of the old room.
func adapter(to string) state.Adapter {
	return state.Adapter{
		Key:     func(event string) string { return task.KeyOf(to, event) },
		Message: adapted,
	}
}

// adapted adapts an unsent message for the room's successor. It drops a reference
// to an event of the old room, or refuses the message if that is all it consists
// of. A reference to another message of ours stays: it is resolved when the message
// is sent.
func adapted(o state.Message) state.Message {
	var c references
	var all map[string]json.RawMessage
	if json.Unmarshal(o.Content, &c) != nil || json.Unmarshal(o.Content, &all) != nil {
		return o
	}
	if o.Kind == state.KindUpgrade {
		o.Status, o.Error = state.Refused, "it is about an upgrade that has been followed"
		return o
	}
	if o.About != "" || cmp.Or(c.Redacts, c.RelatesTo.EventID, c.RelatesTo.InReplyTo.EventID) == "" {
		return o
	}
	if c.Redacts != "" || c.RelatesTo.RelType == "m.annotation" || c.RelatesTo.RelType == "m.replace" {
		o.Status, o.Error = state.Refused, "it refers to an event in the previous room"
		return o
	}
	delete(all, "m.relates_to")
	if content, err := json.Marshal(all); err == nil {
		o.Content = content
	}
	return o
}
