package bot

import (
	"encoding/json"
	"fmt"
	"strings"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/matrix/event"
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

// message is the content of an m.room.message of ours.
type message = matrix.Message

// notice is a message that no bot answers and no phone rings for.
func notice(text string) *message {
	m := rendered(text)
	m.MsgType = matrix.MsgNotice
	return m
}

// rendered is a text message; nobody is mentioned.
func rendered(words string) *message {
	m := &message{}
	m.MsgType = matrix.MsgText
	m.Body = text.Visible(words)
	m.Mentions = &matrix.Mentions{}
	if formatted := text.HTML(m.Body); formatted != "" {
		m.Format, m.FormattedBody = matrix.FormatHTML, formatted
	}
	return m
}

// replyTo relates a message to the one it answers.
func replyTo(eventID string) *matrix.RelatesTo {
	return &matrix.RelatesTo{InReplyTo: &matrix.InReplyTo{EventID: eventID}}
}

// edit makes a message replace an older one. It carries a fallback for clients
// that do not know edits.
func edit(original string, m *message) *message {
	inner := *m
	inner.RelatesTo, inner.Txn = nil, ""
	out := &message{}
	out.MsgType = m.MsgType
	out.Body = "* " + m.Body
	if m.FormattedBody != "" {
		out.Format, out.FormattedBody = m.Format, "* "+m.FormattedBody
	}
	out.Mentions = &matrix.Mentions{}
	out.NewContent = &inner
	out.RelatesTo = &matrix.RelatesTo{RelType: "m.replace", EventID: original}
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
	m.MsgType = matrix.MsgFile
	m.Body, m.FileName = name, name
	m.Info = &matrix.FileInfo{MimeType: "text/markdown", Size: size}
	m.Mentions = &matrix.Mentions{}
	return m
}

// out makes the outbox row of a message.
func (r *room) out(kind state.Kind, txn string, m *message) state.Message {
	m.Txn = txn
	about := ""
	if rel := m.RelatesTo; rel != nil {
		about = ownTxn(rel.EventID)
		if about == "" && rel.InReplyTo != nil {
			about = ownTxn(rel.InReplyTo.EventID)
		}
	}
	content, err := json.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("marshal message: %v", err)) // plain strings and numbers cannot fail
	}
	return state.Message{Txn: txn, Room: r.id, Kind: kind, Type: event.TypeMessage, Content: content, About: about}
}

// ownTxn is the transaction that stands for an event, see [state.AboutRef]; ""
// where an event stands.
func ownTxn(event string) string {
	txn, ok := strings.CutPrefix(event, state.AboutRef(""))
	if !ok {
		return ""
	}
	return txn
}

// out makes the outbox row of a message about the task.
func (t *task) out(kind state.Kind, number int, txn string, m *message) state.Message {
	return t.of(number, t.room.out(kind, txn, m))
}

// of makes a message one of the task's.
func (t *task) of(number int, m state.Message) state.Message {
	m.Task, m.Number = t.rec.Key, number
	return m
}
