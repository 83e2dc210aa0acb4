package bot

import (
	"cmp"
	"encoding/json"

	"matrix-tui/bot/task"
	"matrix-tui/state"
)

// carrier makes what moves to a room's successor fit to stand there: a message
// speaks of nothing in the room before.
func carrier(to string) state.Carrier {
	return state.Carrier{
		Key:     func(event string) string { return task.KeyOf(to, event) },
		Message: carried,
	}
}

// carried is an unsent message for the room's successor. What it says about an
// event of this room cannot be said there; what it says about another message of
// ours is looked up when it is sent.
func carried(o state.Message) state.Message {
	var c references
	var all map[string]json.RawMessage
	if json.Unmarshal(o.Content, &c) != nil || json.Unmarshal(o.Content, &all) != nil {
		return o
	}
	if o.About != "" || cmp.Or(c.Redacts, c.RelatesTo.EventID, c.RelatesTo.InReplyTo.EventID) == "" {
		return o
	}
	if c.Redacts != "" || c.RelatesTo.RelType == "m.annotation" || c.RelatesTo.RelType == "m.replace" {
		o.Status, o.Error = state.Refused, "what it is about stays in the room before"
		return o
	}
	delete(all, "m.relates_to")
	if content, err := json.Marshal(all); err == nil {
		o.Content = content
	}
	return o
}
