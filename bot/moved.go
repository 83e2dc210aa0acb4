package bot

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/text"
	"matrix-tui/state"
)

// carrier makes what moves to a room's successor fit to stand there: an event
// tells where it was said, and a message speaks of nothing that was.
func carrier(from, to string) state.Carrier {
	return state.Carrier{
		Event: func(raw json.RawMessage) json.RawMessage {
			if e, _ := parseEvent(raw); e.Room != "" {
				return raw // it has moved before
			}
			return withRoom(raw, from)
		},
		Key:     func(event string) string { return taskKey(state.Inbound{Room: to, Event: event}) },
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

// homeOf is the room in which a row's event was said: rows move with their
// rooms, and events do not.
func homeOf(row state.Inbound) string {
	if e, _ := parseEvent(row.Raw); e.Room != "" {
		return e.Room
	}
	return row.Room
}

// hasMoved tells a row whose event stands in a room before this one: nothing
// here can reply to it.
func hasMoved(row state.Inbound) bool { return homeOf(row) != row.Room }

func (t *task) hasMoved() bool { return t.rec.Home != t.rec.Room }

// maxReminder bounds what a text reminds of a task in another room, in bytes.
const maxReminder = 200

// remindOf puts before a text what it is about, where it cannot reply to that.
func (t *task) remindOf(words string) string {
	if !t.hasMoved() {
		return words
	}
	about := text.Cut(strings.Join(strings.Fields(t.text), " "), maxReminder)
	if asker := t.asker(); asker != "" {
		about = localpart(asker) + ": " + about
	}
	return "> " + about + "\n\n" + words
}

// linkTo is a matrix.to link to an event of a room, by way of the servers that
// we know to be in it: our own, and that of somebody.
func (b *Bot) linkTo(room, eventID, somebody string) string {
	var via []string
	for _, name := range []string{b.UserID(), somebody, room} {
		if _, server, ok := strings.Cut(name, ":"); ok && !slices.Contains(via, server) {
			via = append(via, server)
		}
	}
	return matrix.LinkTo(room, eventID, via...)
}
