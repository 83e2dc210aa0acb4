package event

// MsgPoll is the msgtype of a poll: Body has the question and the numbered answers.
const MsgPoll = "m.poll"

// Message is the content of an m.room.message, an m.sticker or a poll.
type Message struct {
	MsgType       string    `json:"msgtype,omitzero"` // TypeSticker for a sticker
	Body          string    `json:"body,omitzero"`    // without the quote that older clients put before a reply
	FileName      string    `json:"filename,omitzero"`
	FormattedBody string    `json:"formatted_body,omitzero"` // HTML
	Mentions      []string  `json:"mentions,omitzero"`       // user IDs; nil if the client does not support m.mentions
	NewContent    *Text     `json:"new_content,omitzero"`    // of an edit
	RelatesTo     Relation  `json:"relates_to,omitzero"`
	File          *FileInfo `json:"file,omitzero"`      // of a message with a file
	Command       string    `json:"command,omitzero"`   // the !command that follows the bot's name in Body, or ""
	Automatic     bool      `json:"automatic,omitzero"` // another bot of this kind has sent it
}

// Text is the new content in an edit.
type Text struct {
	MsgType       string   `json:"msgtype,omitzero"`
	Body          string   `json:"body,omitzero"`
	FileName      string   `json:"filename,omitzero"`
	FormattedBody string   `json:"formatted_body,omitzero"`
	Mentions      []string `json:"mentions,omitzero"`
}

// FileInfo describes the file in a message. The sender may have made up all of it.
type FileInfo struct {
	URL      string         `json:"url,omitzero"`
	Secret   *EncryptedFile `json:"secret,omitzero"` // nil if the file is not encrypted
	Size     int64          `json:"size,omitzero"`   // in bytes; 0 if unknown
	MimeType string         `json:"mimetype,omitzero"`
	Voice    bool           `json:"voice,omitzero"` // a voice message (MSC3245)

	// Only in files that we send:
	Width    int       `json:"w,omitzero"` // of an image, in pixels
	Height   int       `json:"h,omitzero"`
	Animated *bool     `json:"animated,omitzero"`  // nil if that is not known
	Thumb    *FileInfo `json:"thumbnail,omitzero"` // a smaller image, or nil
}

// EncryptedFile holds what is needed to decrypt a file
// (https://spec.matrix.org/v1.11/client-server-api/#extensions-to-mroommessage-msgtypes).
type EncryptedFile struct {
	Version string `json:"v,omitzero"`
	Key     JWK    `json:"key,omitzero"`
	IV      string `json:"iv,omitzero"`
	SHA256  string `json:"sha256,omitzero"`
}

// JWK is the key of an encrypted file.
type JWK struct {
	K      string   `json:"k,omitzero"`
	Alg    string   `json:"alg,omitzero"`
	Ext    bool     `json:"ext,omitzero"`
	Kty    string   `json:"kty,omitzero"`
	KeyOps []string `json:"key_ops,omitzero"`
}

// Relation is an event's relation to another one (m.relates_to).
type Relation struct {
	RelType   string `json:"rel_type,omitzero"`
	EventID   string `json:"event_id,omitzero"`
	Key       string `json:"key,omitzero"`      // of an annotation: the reaction
	Fallback  bool   `json:"fallback,omitzero"` // InReplyTo is only for clients without threads
	InReplyTo string `json:"in_reply_to,omitzero"`
}

// Member is the content of an m.room.member.
type Member struct {
	Membership string `json:"membership,omitzero"`
	Before     string `json:"before,omitzero"` // previous membership
	IsDirect   bool   `json:"is_direct,omitzero"`
	Name       string `json:"-"` // display name; not stored
}

// About returns the event that a message refers to: the root of its thread, or the
// event that it replies to, or "".
func (r Relation) About() string {
	if r.RelType == "m.thread" {
		return r.EventID
	}
	return r.InReplyTo
}

// Thread returns the root of a message's thread, or "".
func (r Relation) Thread() string {
	if r.RelType == "m.thread" {
		return r.EventID
	}
	return ""
}

// ReplyTo returns the event that a message replies to, or "". In a thread it ignores a
// relation that is only a fallback for older clients.
func (r Relation) ReplyTo() string {
	if r.Fallback {
		return ""
	}
	return r.InReplyTo
}

// IsEdit reports whether a message replaces another one.
func (m Message) IsEdit() bool { return m.RelatesTo.RelType == "m.replace" }

// Edited returns the message as an edit leaves it: what of makes of m. ok is false if of is no edit.
func (m Message) Edited(of Message) (now Message, ok bool) {
	next := of.NewContent
	if !of.IsEdit() || next == nil {
		return m, false
	}
	m.Body, m.FormattedBody, m.Mentions, m.Command = next.Body, next.FormattedBody, next.Mentions, of.Command
	return m, true
}

// IsFile reports whether a message has a file.
func (m Message) IsFile() bool { return isFile(m.MsgType) }

// Caption returns a file's caption: its body, unless that is the file name.
func (m Message) Caption() string {
	return Text{MsgType: m.MsgType, Body: m.Body, FileName: m.FileName}.caption()
}

// Words returns what a person wrote: for a file the caption, and of a command that follows the bot's name only the
// command.
func (m Message) Words() string {
	switch {
	case m.Command != "":
		return m.Command
	case m.IsFile():
		return m.Caption()
	}
	return m.Body
}

// NewWords returns the new text in an edit; for a file, its caption.
func (m Message) NewWords() string {
	switch {
	case m.NewContent == nil:
		return ""
	case isFile(m.NewContent.MsgType):
		return m.NewContent.caption()
	}
	return m.NewContent.Body
}

func (t Text) caption() string {
	if t.FileName == "" || t.FileName == t.Body {
		return ""
	}
	return t.Body
}

func isFile(msgType string) bool {
	switch msgType {
	case "m.image", "m.file", "m.audio", "m.video", TypeSticker:
		return true
	}
	return false
}
