package event

// Message is the content of an m.room.message or an m.sticker.
type Message struct {
	MsgType       string    `json:"msgtype,omitzero"` // TypeSticker for a sticker
	Body          string    `json:"body,omitzero"`
	FileName      string    `json:"filename,omitzero"`
	FormattedBody string    `json:"formatted_body,omitzero"` // HTML
	Mentions      []string  `json:"mentions,omitzero"`       // user IDs; nil where the client does not say
	NewContent    *Text     `json:"new_content,omitzero"`    // of an edit
	RelatesTo     Relation  `json:"relates_to,omitzero"`
	File          *FileInfo `json:"file,omitzero"` // of a message with a file
}

// Text is what an edit puts in the place of a message.
type Text struct {
	MsgType  string `json:"msgtype,omitzero"`
	Body     string `json:"body,omitzero"`
	FileName string `json:"filename,omitzero"`
}

// FileInfo is what a message says about its file. All of it is the sender's claim.
type FileInfo struct {
	URL      string         `json:"url,omitzero"`
	Secret   *EncryptedFile `json:"secret,omitzero"` // nil: the file is not encrypted
	Size     int64          `json:"size,omitzero"`   // in bytes; 0: not said
	MimeType string         `json:"mimetype,omitzero"`
	Voice    bool           `json:"voice,omitzero"` // a voice message (MSC3245)
}

// EncryptedFile says how a file is encrypted
// (https://spec.matrix.org/v1.11/client-server-api/#extensions-to-mroommessage-msgtypes).
type EncryptedFile struct {
	Version string `json:"v,omitzero"`
	Key     JWK    `json:"key,omitzero"`
	IV      string `json:"iv,omitzero"`
	SHA256  string `json:"sha256,omitzero"`
}

// JWK is the key of a file.
type JWK struct {
	K      string   `json:"k,omitzero"`
	Alg    string   `json:"alg,omitzero"`
	Ext    bool     `json:"ext,omitzero"`
	Kty    string   `json:"kty,omitzero"`
	KeyOps []string `json:"key_ops,omitzero"`
}

// Relation is what an event says about another one (m.relates_to).
type Relation struct {
	RelType   string `json:"rel_type,omitzero"`
	EventID   string `json:"event_id,omitzero"`
	Key       string `json:"key,omitzero"`      // of an annotation: the reaction
	Fallback  bool   `json:"fallback,omitzero"` // the reply is for clients without threads
	InReplyTo string `json:"in_reply_to,omitzero"`
}

// Member is the content of an m.room.member.
type Member struct {
	Membership string `json:"membership,omitzero"`
	Before     string `json:"before,omitzero"` // the one before this one
	IsDirect   bool   `json:"is_direct,omitzero"`
}

// About is the event that a message speaks to: the root of its thread, or what
// it replies to; "" for one that stands for itself.
func (r Relation) About() string {
	if r.RelType == "m.thread" {
		return r.EventID
	}
	return r.InReplyTo
}

// Thread is the root of the thread that a message stands in, "" for none.
func (r Relation) Thread() string {
	if r.RelType == "m.thread" {
		return r.EventID
	}
	return ""
}

// ReplyTo is the event that a message replies to, "" for none: in a thread, a
// relation may be there for old clients only.
func (r Relation) ReplyTo() string {
	if r.Fallback {
		return ""
	}
	return r.InReplyTo
}

// IsEdit tells whether a message replaces another one.
func (m Message) IsEdit() bool { return m.RelatesTo.RelType == "m.replace" }

// IsFile tells whether a message carries a file.
func (m Message) IsFile() bool { return isFile(m.MsgType) }

// Caption is what was written under a file: its body, where that is not the
// file's name.
func (m Message) Caption() string { return Text{m.MsgType, m.Body, m.FileName}.caption() }

// NewWords is what an edit has the person say now; of a file, its caption.
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
