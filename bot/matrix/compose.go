package matrix

import (
	"encoding/json"
	"fmt"

	"matrix-tui/bot/text"
)

const (
	// maxEvent is what we let one event's content be. The limit of the whole
	// event is 64 KiB, with the server's own fields and signatures
	// (https://spec.org/v1.11/client-server-api/#size-limits), and
	// encryption makes a third more of the content.
	maxEvent = 44 << 10
	// partSize is how much markdown goes into one message to begin with.
	partSize = 16 << 10
	// MaxParts is how many messages one answer may be; a longer answer goes as
	// a file behind its beginning.
	MaxParts = 6
)

// Notice is a message that no bot answers and no phone rings for.
func Notice(text string) *Message {
	m := Text(text)
	m.MsgType = MsgNotice
	return m
}

// Text is a text message; nobody is mentioned.
func Text(words string) *Message {
	m := &Message{}
	m.MsgType = MsgText
	m.Body = text.Visible(words)
	m.Mentions = &Mentions{}
	if formatted := text.HTML(m.Body); formatted != "" {
		m.Format, m.FormattedBody = FormatHTML, formatted
	}
	return m
}

// ReplyTo relates a message to the one it answers.
func ReplyTo(eventID string) *RelatesTo {
	return &RelatesTo{InReplyTo: &InReplyTo{EventID: eventID}}
}

// Edit makes a message replace an older one. It carries a fallback for clients
// that do not know edits.
func Edit(original string, m *Message) *Message {
	inner := *m
	inner.RelatesTo, inner.Txn = nil, ""
	out := &Message{}
	out.MsgType = m.MsgType
	out.Body = "* " + m.Body
	if m.FormattedBody != "" {
		out.Format, out.FormattedBody = m.Format, "* "+m.FormattedBody
	}
	out.Mentions = &Mentions{}
	out.NewContent = &inner
	out.RelatesTo = &RelatesTo{RelType: "m.replace", EventID: original}
	return out
}

// Parts makes the messages of a text: the first replies to the task; each fits
// into an event.
func Parts(words, task string) []*Message {
	var out []*Message
	for _, part := range text.Fit(words, partSize, fits) {
		out = append(out, Text(part))
	}
	out[0].RelatesTo = ReplyTo(task)
	return out
}

// fits tells whether a part of a text, rendered, fits into an event.
func fits(part string) bool {
	encoded, _ := json.Marshal(Text(part))
	return len(encoded) <= maxEvent
}

// FileMessage refers to a file; where that is, is not in it yet.
func FileMessage(name string, size int) *Message {
	m := &Message{}
	m.MsgType = MsgFile
	m.Body, m.FileName = name, name
	m.Info = &FileInfo{MimeType: "text/markdown", Size: size}
	m.Mentions = &Mentions{}
	return m
}

// Long makes the messages of a text that may be very long: one of more than
// MaxParts messages goes as a file behind its beginning. upload gives the
// homeserver the file.
func Long(words, about, name, whole string, upload func() (*Message, error)) ([]*Message, error) {
	if len(words) <= MaxParts*partSize { // else it takes more
		if messages := Parts(words, about); len(messages) <= MaxParts {
			return messages, nil
		}
	}
	beginning := text.Fit(words, partSize-512, fits)[0] // the note has to fit behind it
	size := text.Size(int64(len(whole)))
	file, err := upload()
	if err != nil {
		note := fmt.Sprintf("\n\n… The %s is longer (%s); the rest was cut, because the homeserver did not accept it as a file.", name, size)
		return Parts(beginning+note, about), err
	}
	note := fmt.Sprintf("\n\n… The whole %s (%s) is in the file below.", name, size)
	return append(Parts(beginning+note, about), file), nil
}

// Reaction is the content of a reaction to an event.
func Reaction(about, key, txn string) json.RawMessage {
	return marshal(map[string]any{
		"m.relates_to":      map[string]string{"rel_type": "m.annotation", "event_id": about, "key": key},
		"io.matrix-tui.txn": txn,
	})
}

// Redaction is the content of a redaction of an event.
func Redaction(about string) json.RawMessage { return marshal(map[string]any{"redacts": about}) }

func marshal(content any) json.RawMessage {
	data, err := json.Marshal(content)
	if err != nil {
		panic(fmt.Sprintf("marshal content: %v", err)) // plain strings cannot fail
	}
	return data
}

// maxNotice bounds the content of an edit of a notice, in bytes of JSON:
// encrypted, which makes a third more of it, it still is under 20 KB.
const maxNotice = 13 << 10

// FitsNotice tells whether an edit of a notice can show words.
func FitsNotice(words string) bool {
	data, err := json.Marshal(Edit("$0123456789012345678901234567890123456789012", Notice(words)))
	return err == nil && len(data) <= maxNotice
}

// WithTxn puts the transaction ID into a message, see [Message].
func WithTxn(content json.RawMessage, txn string) (json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(content, &fields); err != nil {
		return nil, fmt.Errorf("read a file's message: %w", err)
	}
	fields["io.matrix-tui.txn"], _ = json.Marshal(txn) // a string cannot fail
	return json.Marshal(fields)
}
