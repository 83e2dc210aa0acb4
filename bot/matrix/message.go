package matrix

import (
	"encoding/json"
	"slices"
	"strings"

	"matrix-tui/bot/text"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// content is the content of an m.room.message that we send. It carries its own transaction ID, so that we recognise it
// when it comes back by /sync, even if the homeserver has forgotten the transaction.
type content struct {
	MsgType       string     `json:"msgtype"`
	Body          string     `json:"body"`
	Format        string     `json:"format,omitempty"`
	FormattedBody string     `json:"formatted_body,omitempty"`
	FileName      string     `json:"filename,omitempty"`
	Info          *info      `json:"info,omitempty"`
	URL           string     `json:"url,omitempty"`
	File          *encrypted `json:"file,omitempty"`
	Mentions      mentions   `json:"m.mentions"` // {} if nobody is mentioned
	RelatesTo     *relation  `json:"m.relates_to,omitempty"`
	NewContent    *content   `json:"m.new_content,omitempty"`
	Txn           string     `json:"io.matrix-tui.txn,omitempty"`
}

type info struct {
	MimeType  string     `json:"mimetype"`
	Size      int64      `json:"size"`
	Width     int        `json:"w,omitempty"`
	Height    int        `json:"h,omitempty"`
	Animated  *bool      `json:"org.matrix.msc4230.is_animated,omitempty"` // without it, some clients label PNGs as GIFs
	ThumbURL  string     `json:"thumbnail_url,omitempty"`
	ThumbFile *encrypted `json:"thumbnail_file,omitempty"`
	ThumbInfo *info      `json:"thumbnail_info,omitempty"`
}

// encrypted is the EncryptedFile of the Matrix specification.
type encrypted struct {
	URL    string            `json:"url"`
	V      string            `json:"v"`
	Key    event.JWK         `json:"key"`
	IV     string            `json:"iv"`
	Hashes map[string]string `json:"hashes"`
}

type mentions struct {
	UserIDs []string `json:"user_ids,omitempty"`
}

type relation struct {
	RelType   string   `json:"rel_type,omitempty"`
	EventID   string   `json:"event_id,omitempty"`
	Key       string   `json:"key,omitempty"`
	Fallback  bool     `json:"is_falling_back,omitempty"`
	InReplyTo *replyTo `json:"m.in_reply_to,omitempty"`
}

type replyTo struct {
	EventID string `json:"event_id"`
}

// encode returns the event that a message becomes; Target is the event that it relates to.
func encode(m state.Message) (eventType string, data json.RawMessage) {
	if m.Relation == state.Reaction {
		return event.TypeReaction, marshal(struct {
			RelatesTo relation `json:"m.relates_to"`
			Txn       string   `json:"io.matrix-tui.txn,omitempty"`
		}{relation{RelType: "m.annotation", EventID: m.Target, Key: m.Body}, m.Txn})
	}
	c := shown(m)
	if m.File != nil {
		c = fileMessage(m.Body, *m.File)
	}
	switch {
	case m.Relation == state.Edit:
		c = edit(c)
		c.RelatesTo = &relation{RelType: "m.replace", EventID: m.Target}
	case m.Relation != "":
		c.RelatesTo = &relation{InReplyTo: &replyTo{m.Target}}
		if m.Thread != "" {
			c.RelatesTo.RelType, c.RelatesTo.EventID, c.RelatesTo.Fallback = "m.thread", m.Thread, m.Relation == state.Follows
		}
	}
	c.Mentions.UserIDs, c.Txn = m.Mentions, m.Txn
	return event.TypeMessage, marshal(c)
}

// edit returns a message that shows c in place of another one, with a fallback for clients that do not support edits.
func edit(c *content) *content {
	out := &content{MsgType: c.MsgType, Body: "* " + c.Body, NewContent: c}
	if c.FormattedBody != "" {
		out.Format, out.FormattedBody = c.Format, "* "+c.FormattedBody
	}
	return out
}

// shown returns the text of a message.
func shown(m state.Message) *content {
	c := rendered(m.Body)
	if m.Notice {
		c.MsgType = "m.notice"
	}
	switch {
	case m.Small != "":
		c.small(m.Small, m.Details)
	case m.Details != "":
		c.fold(m.Details)
	}
	return c
}

// rendered returns a text message from Markdown.
func rendered(words string) *content {
	c := &content{MsgType: "m.text"}
	c.Body, c.FormattedBody = text.Render(text.Visible(words))
	if c.FormattedBody != "" {
		c.Format = formatHTML
	}
	return c
}

// Shown lists the types that Matrix clients show as images.
var Shown = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

func fileMessage(name string, f event.FileInfo) *content {
	c := &content{MsgType: "m.file", Body: name, FileName: name, Info: infoOf(f)}
	c.URL, c.File = placeOf(f)
	switch major, _, _ := strings.Cut(f.MimeType, "/"); {
	case slices.Contains(Shown, f.MimeType):
		c.MsgType = "m.image"
	case major == "audio" || major == "video":
		c.MsgType = "m." + major
	}
	if f.Thumb != nil {
		c.Info.ThumbURL, c.Info.ThumbFile = placeOf(*f.Thumb)
		c.Info.ThumbInfo = infoOf(*f.Thumb)
	}
	return c
}

func infoOf(f event.FileInfo) *info {
	return &info{MimeType: f.MimeType, Size: f.Size, Width: f.Width, Height: f.Height, Animated: f.Animated}
}

// placeOf returns where the homeserver has a file.
func placeOf(f event.FileInfo) (url string, file *encrypted) {
	if s := f.Secret; s != nil {
		return "", &encrypted{URL: f.URL, V: s.Version, Key: s.Key, IV: s.IV, Hashes: map[string]string{"sha256": s.SHA256}}
	}
	return f.URL, nil
}

func marshal(content any) json.RawMessage {
	data, err := json.Marshal(content)
	if err != nil {
		panic("marshal content: " + err.Error()) // plain strings and numbers cannot fail
	}
	return data
}
