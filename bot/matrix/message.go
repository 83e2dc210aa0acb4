package matrix

import "encoding/json"

// Types of messages (msgtype) that we send.
const (
	MsgText   = "m.text"
	MsgNotice = "m.notice" // notifies nobody, and bots ignore it
	MsgFile   = "m.file"
)

// FormatHTML is the format of a formatted body.
const FormatHTML = "org.matrix.custom.html"

// Message is the content of an m.room.message that we send. It carries its own
// transaction ID, so that we recognise it when it comes back by /sync, even if the
// homeserver has forgotten the transaction.
type Message struct {
	MsgType       string          `json:"msgtype"`
	Body          string          `json:"body"`
	Format        string          `json:"format,omitempty"`
	FormattedBody string          `json:"formatted_body,omitempty"`
	URL           string          `json:"url,omitempty"`
	File          json.RawMessage `json:"file,omitempty"` // EncryptedFile of the specification
	FileName      string          `json:"filename,omitempty"`
	Info          *FileInfo       `json:"info,omitempty"`
	Mentions      *Mentions       `json:"m.mentions,omitempty"` // never nil in a message; {} if nobody is mentioned
	RelatesTo     *RelatesTo      `json:"m.relates_to,omitempty"`
	NewContent    *Message        `json:"m.new_content,omitempty"`
	Txn           string          `json:"io.matrix-tui.txn,omitempty"`
}

// FileInfo describes the file of a message.
type FileInfo struct {
	MimeType string `json:"mimetype,omitempty"`
	Size     int    `json:"size,omitempty"` // bytes
}

// Mentions lists the users to notify.
type Mentions struct {
	UserIDs []string `json:"user_ids,omitempty"`
}

// RelatesTo is a message's relation to another event.
type RelatesTo struct {
	RelType       string     `json:"rel_type,omitempty"`
	EventID       string     `json:"event_id,omitempty"`
	IsFallingBack bool       `json:"is_falling_back,omitempty"`
	InReplyTo     *InReplyTo `json:"m.in_reply_to,omitempty"`
}

// InReplyTo names the event that a message replies to.
type InReplyTo struct {
	EventID string `json:"event_id"`
}
