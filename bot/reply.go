package bot

import (
	"encoding/json"
	"fmt"

	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

	"matrix-tui/bot/text"
	"matrix-tui/state"
)

const (
	// maxEvent is what we let one event's content be. The limit of the whole
	// event is 64 KiB, with the server's own fields and signatures
	// (https://spec.matrix.org/v1.11/client-server-api/#size-limits), and
	// encryption makes a third more of the content.
	maxEvent = 44 << 10
	// partSize is how much markdown goes into one message to begin with.
	partSize = 16 << 10
	// maxParts is how many messages one answer may be; a longer answer goes as
	// a file behind its beginning.
	maxParts = 6
)

var messageType = event.EventMessage

// message is the content of an m.room.message of ours. It carries its
// transaction ID, so that it is known again when it comes back by /sync, even
// from a homeserver that has forgotten which transactions it has seen.
type message struct {
	event.MessageEventContent
	Txn string `json:"io.matrix-tui.txn,omitempty"`
}

// notice is a message that no bot answers and no phone rings for.
func notice(text string) *message {
	m := rendered(text)
	m.MsgType = event.MsgNotice
	return m
}

// rendered is a text message; nobody is mentioned.
func rendered(words string) *message {
	m := &message{}
	m.MsgType = event.MsgText
	m.Body = text.Visible(words)
	m.Mentions = &event.Mentions{}
	if formatted := text.HTML(m.Body); formatted != "" {
		m.Format, m.FormattedBody = event.FormatHTML, formatted
	}
	return m
}

// replyTo relates a message to the one it answers.
func replyTo(eventID string) *event.RelatesTo {
	return &event.RelatesTo{InReplyTo: &event.InReplyTo{EventID: id.EventID(eventID)}}
}

// edit makes a message replace an older one. It carries a fallback for clients
// that do not know edits.
func edit(original string, m *message) *message {
	inner := m.MessageEventContent
	inner.RelatesTo = nil
	out := &message{}
	out.MsgType = m.MsgType
	out.Body = "* " + m.Body
	if m.FormattedBody != "" {
		out.Format, out.FormattedBody = m.Format, "* "+m.FormattedBody
	}
	out.Mentions = &event.Mentions{}
	out.NewContent = &inner
	out.RelatesTo = &event.RelatesTo{Type: event.RelReplace, EventID: id.EventID(original)}
	return out
}

// answer makes the messages of a text: the first replies to the task; each fits
// into an event.
func answer(words, task string) []*message {
	var out []*message
	for _, part := range text.Fit(words, partSize, fits) {
		out = append(out, rendered(part))
	}
	out[0].RelatesTo = replyTo(task)
	return out
}

// fits tells whether a part of a text, rendered, fits into an event.
func fits(part string) bool {
	encoded, _ := json.Marshal(rendered(part))
	return len(encoded) <= maxEvent
}

// fileMessage refers to a file; where that is, is not in it yet.
func fileMessage(name string, size int) *message {
	m := &message{}
	m.MsgType = event.MsgFile
	m.Body, m.FileName = name, name
	m.Info = &event.FileInfo{MimeType: "text/markdown", Size: size}
	m.Mentions = &event.Mentions{}
	return m
}

// out makes the outbox row of a message; task is the event it answers, if any.
func (r *room) out(txn, task string, m *message) state.Outbound {
	m.Txn = txn
	content, err := json.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("marshal message: %v", err)) // plain strings and numbers cannot fail
	}
	return state.Outbound{Txn: txn, Room: r.id, Type: messageType.Type, Content: content, Task: task}
}
