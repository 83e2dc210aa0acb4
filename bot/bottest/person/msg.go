package person

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"maunium.net/go/mautrix/event"
)

// Msg is one event of a room, as a reader of the chat sees it.
type Msg struct {
	Event  string // event ID
	Room   string
	Sender string    // user ID
	Type   string    // m.room.message, m.reaction, m.room.member, m.room.redaction …
	Time   time.Time // in the server's clock

	Kind     string   // msgtype: m.text, m.notice, m.file …
	Body     string   // plain text; for an edit: the new text
	HTML     string   // formatted body, "" if there is none
	ReplyTo  string   // event that this answers
	Thread   string   // root of the thread this is in
	EditOf   string   // event that this edit replaces
	Target   string   // event that a reaction or redaction is about
	Key      string   // of a reaction
	URL      string   // mxc address of a file
	Txn      string   // the transaction ID that a matrix-tui puts into its messages
	Mentions []string // user IDs; nil if m.mentions is missing, empty if it is {}

	Member     string // m.room.member: whose membership
	Membership string // join, leave, invite …
	Redacted   bool   // content was removed

	Encrypted bool            // it was encrypted, and could be decrypted
	File      json.RawMessage // of an encrypted file: the key
	Content   json.RawMessage // the whole content
}

// Final reports whether this is a separate message that answers another one: text, not a notice, not an edit.
func (m Msg) Final() bool {
	return m.Type == "m.room.message" && m.Kind == "m.text" && m.EditOf == "" &&
		(m.ReplyTo != "" || answerTxn.MatchString(m.Txn))
}

// Progress reports whether this is the notice of a task, or an edit of it.
func (m Msg) Progress() bool { return m.Kind == "m.notice" && noticeTxn.MatchString(m.Txn) }

// Answers reports whether this answers an event: it replies to it, or is the answer or a question of the task that it
// is.
func (m Msg) Answers(event string) bool {
	key := sha256.Sum256([]byte(m.Room + "\x00" + event))
	return m.ReplyTo == event || answerTxn.MatchString(m.Txn) && strings.HasPrefix(m.Txn, hex.EncodeToString(key[:10])+"-")
}

// The transaction IDs of a matrix-tui begin with the key of the task.
var (
	answerTxn = regexp.MustCompile(`^[0-9a-f]{20}-(f0|q[0-9]+)(-s)?$`)
	noticeTxn = regexp.MustCompile(`^[0-9a-f]{20}-n[0-9]*(-e.*)?$`)
)

// String is one line of a chat log.
func (m Msg) String() string {
	who, _, _ := strings.Cut(strings.TrimPrefix(m.Sender, "@"), ":")
	switch {
	case m.Redacted:
		return fmt.Sprintf("<%s> (removed)", who)
	case m.Type == "m.room.member":
		return fmt.Sprintf("* %s: %s", m.Member, m.Membership)
	case m.Type == "m.reaction":
		return fmt.Sprintf("<%s> reacts %s", who, m.Key)
	case m.Type != "m.room.message":
		return fmt.Sprintf("* %s by %s", m.Type, who)
	}
	mark := ""
	if m.Kind != "m.text" {
		mark = " (" + strings.TrimPrefix(m.Kind, "m.") + ")"
	}
	if m.EditOf != "" {
		mark += " (edit)"
	}
	if m.ReplyTo != "" {
		mark += " (reply)"
	}
	return fmt.Sprintf("<%s>%s %s", who, mark, m.Body)
}

// content is the part of an event's content that Msg needs; unknown keys are ignored.
type content struct {
	MsgType       string          `json:"msgtype"`
	Body          string          `json:"body"`
	FormattedBody string          `json:"formatted_body"`
	URL           string          `json:"url"`
	File          json.RawMessage `json:"file"`
	Membership    string          `json:"membership"`
	Redacts       string          `json:"redacts"`
	Txn           string          `json:"io.matrix-tui.txn"`
	Mentions      *struct {
		Users []string `json:"user_ids"`
	} `json:"m.mentions"`
	New     *content `json:"m.new_content"`
	Relates struct {
		Type  string `json:"rel_type"`
		Event string `json:"event_id"`
		Key   string `json:"key"`
		Reply struct {
			Event string `json:"event_id"`
		} `json:"m.in_reply_to"`
	} `json:"m.relates_to"`
}

// decode reads an event. If its content is invalid, the Msg has only type and sender.
func decode(room string, evt *event.Event) Msg {
	m := Msg{
		Event: evt.ID.String(), Room: room, Sender: evt.Sender.String(),
		Type: evt.Type.Type, Time: time.UnixMilli(evt.Timestamp),
		Redacted: evt.Unsigned.RedactedBecause != nil, Content: evt.Content.VeryRaw,
	}
	var c content
	if json.Unmarshal(evt.Content.VeryRaw, &c) != nil {
		return m
	}
	text := &c
	switch c.Relates.Type {
	case "m.replace":
		m.EditOf = c.Relates.Event
		if c.New != nil {
			text = c.New
		}
	case "m.thread":
		m.Thread = c.Relates.Event
	case "m.annotation":
		m.Target, m.Key = c.Relates.Event, c.Relates.Key
	}
	m.ReplyTo, m.Txn = c.Relates.Reply.Event, c.Txn
	m.Kind, m.Body, m.HTML, m.URL = text.MsgType, text.Body, text.FormattedBody, text.URL
	var file struct {
		URL string `json:"url"`
	}
	if len(text.File) > 0 && json.Unmarshal(text.File, &file) == nil {
		m.URL, m.File = file.URL, text.File
	}
	if c.Mentions != nil {
		m.Mentions = append([]string{}, c.Mentions.Users...)
	}
	if evt.Type.Type == "m.room.member" && evt.StateKey != nil {
		m.Member, m.Membership = *evt.StateKey, c.Membership
	}
	if evt.Type.Type == "m.room.redaction" {
		m.Target = evt.Redacts.String()
		if m.Target == "" {
			m.Target = c.Redacts
		}
	}
	return m
}
