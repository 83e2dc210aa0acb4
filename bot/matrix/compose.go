package matrix

import (
	"encoding/json"
	"fmt"
	"html"
	"strings"

	"matrix-tui/bot/text"
)

const (
	// maxEvent is the maximum size of an event's content in bytes. An event may have
	// 64 KiB, including the server's own fields and signatures
	// (https://spec.matrix.org/v1.11/client-server-api/#size-limits), and encryption
	// adds a third to the content.
	maxEvent = 44 << 10
	// partSize is the size of Markdown that is tried first for one message, in bytes.
	partSize = 16 << 10
	// MaxParts is the maximum number of messages for one text. A longer text is sent
	// as its beginning and a file.
	MaxParts = 6
)

// Notice returns a notice: a message that notifies nobody and that bots ignore.
func Notice(text string) *Message {
	m := Text(text)
	m.MsgType = MsgNotice
	return m
}

// Text returns a text message from Markdown; it mentions nobody.
func Text(words string) *Message {
	m := &Message{}
	m.MsgType = MsgText
	m.Mentions = &Mentions{}
	m.Body, m.FormattedBody = text.Render(text.Visible(words))
	if m.FormattedBody != "" {
		m.Format = FormatHTML
	}
	return m
}

// Fold makes the text of a message the summary of details, in Markdown. Clients show them when it is clicked.
func (m *Message) Fold(details string) {
	inner := Text(details)
	m.FormattedBody = "<details><summary>" + m.formatted() + "</summary>" + inner.formatted() + "</details>"
	m.Format = FormatHTML
}

// Small adds a last line in small letters, with details as in Fold if there is room for them.
func (m *Message) Small(line, details string) {
	text := m.formatted()
	m.Format = FormatHTML
	m.Body += "\n\n" + line
	small := Message{FormattedBody: "<sub>" + html.EscapeString(line) + "</sub>"}
	m.FormattedBody = text + "<p>" + small.FormattedBody + "</p>"
	if small.Fold(details); details == "" {
		return
	}
	without := m.FormattedBody
	m.FormattedBody = text + small.FormattedBody
	if encoded, _ := json.Marshal(m); len(encoded) > maxEvent {
		m.FormattedBody = without
	}
}

// formatted returns the text as HTML.
func (m *Message) formatted() string {
	if m.FormattedBody != "" {
		return m.FormattedBody
	}
	return strings.ReplaceAll(html.EscapeString(m.Body), "\n", "<br>")
}

// ReplyTo returns the relation of a reply to an event.
func ReplyTo(eventID string) *RelatesTo {
	return &RelatesTo{InReplyTo: &InReplyTo{EventID: eventID}}
}

// Edit returns a message that replaces the original, with a fallback for clients
// that do not support edits.
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

// Parts splits a text into messages that fit into one event each. The first replies
// to the event task.
func Parts(words, task string) []*Message {
	var out []*Message
	for _, part := range text.Fit(words, partSize, fits) {
		out = append(out, Text(part))
	}
	out[0].RelatesTo = ReplyTo(task)
	return out
}

// fits reports whether a part of a text, once rendered, fits into an event.
func fits(part string) bool {
	encoded, _ := json.Marshal(Text(part))
	return len(encoded) <= maxEvent
}

// FileMessage returns a message with a Markdown file, still without its URL.
func FileMessage(name string, size int) *Message {
	m := &Message{}
	m.MsgType = MsgFile
	m.Body, m.FileName = name, name
	m.Info = &FileInfo{MimeType: "text/markdown", Size: size}
	m.Mentions = &Mentions{}
	return m
}

// Long returns the messages of a text of any length. If it needs more than MaxParts
// messages, the result is its beginning and the message that upload returns, which
// refers to the file. An error is upload's; the messages are valid even then.
func Long(words, about, name, whole string, upload func() (*Message, error)) ([]*Message, error) {
	if len(words) <= MaxParts*partSize { // else it cannot fit
		if messages := Parts(words, about); len(messages) <= MaxParts {
			return messages, nil
		}
	}
	beginning := text.Fit(words, partSize-512, fits)[0] // leaves room for the note
	size := text.Size(int64(len(whole)))
	file, err := upload()
	if err != nil {
		note := fmt.Sprintf("\n\n… The %s is longer (%s); the rest was cut, because the homeserver did not accept it as a file.", name, size)
		return Parts(beginning+note, about), err
	}
	note := fmt.Sprintf("\n\n… The whole %s (%s) is in the file below.", name, size)
	return append(Parts(beginning+note, about), file), nil
}

// Reaction returns the content of a reaction to an event.
func Reaction(about, key, txn string) json.RawMessage {
	return marshal(map[string]any{
		"m.relates_to":      map[string]string{"rel_type": "m.annotation", "event_id": about, "key": key},
		"io.matrix-tui.txn": txn,
	})
}

// Redaction returns the content of a redaction of an event.
func Redaction(about string) json.RawMessage { return marshal(map[string]any{"redacts": about}) }

func marshal(content any) json.RawMessage {
	data, err := json.Marshal(content)
	if err != nil {
		panic(fmt.Sprintf("marshal content: %v", err)) // plain strings cannot fail
	}
	return data
}

// maxNotice is the maximum size of the content of an edit to a notice, in bytes of
// JSON. Encrypted, which adds a third, it stays under 20 KB.
const maxNotice = 13 << 10

// FitsNotice reports whether words fit into an edit of a notice.
func FitsNotice(words string) bool {
	data, err := json.Marshal(Edit("$0123456789012345678901234567890123456789012", Notice(words)))
	return err == nil && len(data) <= maxNotice
}

// FitsHalf reports whether words fit into half of a message, so that they stay together there with others around them.
func FitsHalf(words string) bool {
	data, err := json.Marshal(Text(words))
	return err == nil && len(data) <= maxEvent/2
}

// WithTxn adds the transaction ID to the content of a message: see [Message].
func WithTxn(content json.RawMessage, txn string) (json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(content, &fields); err != nil {
		return nil, fmt.Errorf("read content of a file's message: %w", err)
	}
	fields["io.matrix-tui.txn"], _ = json.Marshal(txn) // a string cannot fail
	return json.Marshal(fields)
}
