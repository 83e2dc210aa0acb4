package bot

import "encoding/json"

// wireEvent is what we read of a room event; the rest of it stays in the raw
// bytes. Anything may stand in it: other people wrote it.
type wireEvent struct {
	ID       string          `json:"event_id"`
	Type     string          `json:"type"`
	Sender   string          `json:"sender"`
	StateKey *string         `json:"state_key"`
	Room     string          `json:"room_id"` // where it was said, if that is known: see homeOf
	Time     int64           `json:"origin_server_ts"`
	Content  json.RawMessage `json:"content"`
	Redacts  string          `json:"redacts"` // before room version 11
	Unsigned struct {
		TransactionID string     `json:"transaction_id"`
		PrevContent   wireMember `json:"prev_content"`
	} `json:"unsigned"`
}

// wireMessage is the content of an m.room.message as far as we read it.
type wireMessage struct {
	MsgType    string       `json:"msgtype"`
	Body       string       `json:"body"`
	FileName   any          `json:"filename"` // a string, where it is right
	NewContent wireText     `json:"m.new_content"`
	RelatesTo  wireRelation `json:"m.relates_to"`
}

// isFile tells a message that carries a file.
func (m wireMessage) isFile() bool {
	switch m.MsgType {
	case "m.image", "m.file", "m.audio", "m.video", typeSticker:
		return true
	}
	return false
}

// caption is what was written under a file: its body, where that is not the
// file's name.
func (m wireMessage) caption() string {
	if name, _ := m.FileName.(string); name == "" || name == m.Body {
		return ""
	}
	return m.Body
}

// typeSticker is the type of an event that shows a picture of a pack.
const typeSticker = "m.sticker"

// isSpoken tells the types of events by which people say something.
func isSpoken(eventType string) bool {
	return eventType == messageType.Type || eventType == typeSticker
}

// wireText is what an edit puts in the place of a message.
type wireText struct {
	MsgType  string `json:"msgtype"`
	Body     string `json:"body"`
	FileName any    `json:"filename"`
}

// words is what the person says now; of a file, its caption.
func (t wireText) words() string {
	m := wireMessage{MsgType: t.MsgType, Body: t.Body, FileName: t.FileName}
	if m.isFile() {
		return m.caption()
	}
	return t.Body
}

// wireRelation is what an event says about another one.
type wireRelation struct {
	RelType   string `json:"rel_type"`
	EventID   string `json:"event_id"`
	Key       string `json:"key"`             // of an annotation: the reaction
	Fallback  bool   `json:"is_falling_back"` // the reply is for clients without threads
	InReplyTo struct {
		EventID string `json:"event_id"`
	} `json:"m.in_reply_to"`
}

// about is the event that a message speaks to: the root of its thread, or what
// it replies to; "" for one that stands for itself.
func (r wireRelation) about() string {
	if r.RelType == "m.thread" {
		return r.EventID
	}
	return r.InReplyTo.EventID
}

// wireMember is the content of an m.room.member.
type wireMember struct {
	Membership string `json:"membership"`
	IsDirect   bool   `json:"is_direct"`
}

// wireTombstone is the content of an m.room.tombstone.
type wireTombstone struct {
	ReplacementRoom string `json:"replacement_room"`
}

// parseEvent reads one event; ok is false when it lacks what each event has.
func parseEvent(raw json.RawMessage) (e wireEvent, ok bool) {
	if err := json.Unmarshal(raw, &e); err != nil {
		return e, false
	}
	return e, e.ID != "" && e.Type != "" && e.Sender != ""
}

// message reads the event as a message, a sticker too; ok is false for any other
// event and for content of another shape.
func (e wireEvent) message() (m wireMessage, ok bool) {
	if !isSpoken(e.Type) || e.StateKey != nil {
		return m, false
	}
	if err := json.Unmarshal(e.Content, &m); err != nil {
		return m, false
	}
	if e.Type == typeSticker {
		m.MsgType = typeSticker
	}
	return m, m.MsgType != ""
}

// reaction reads the event as a reaction to another one.
func (e wireEvent) reaction() (r wireRelation, ok bool) {
	var c struct {
		RelatesTo wireRelation `json:"m.relates_to"`
	}
	if e.Type != "m.reaction" || e.StateKey != nil || json.Unmarshal(e.Content, &c) != nil {
		return r, false
	}
	return c.RelatesTo, c.RelatesTo.RelType == "m.annotation" && c.RelatesTo.EventID != "" && c.RelatesTo.Key != ""
}

// redaction is the event that an event takes back, "" for none. It stands in
// the content since room version 11.
func (e wireEvent) redaction() string {
	var c struct {
		Redacts string `json:"redacts"`
	}
	if e.Type != "m.room.redaction" || e.StateKey != nil {
		return ""
	}
	if json.Unmarshal(e.Content, &c) == nil && c.Redacts != "" {
		return c.Redacts
	}
	return e.Redacts
}

// member reads the event as a membership; user is whose it is.
func (e wireEvent) member() (user string, m wireMember, ok bool) {
	if e.Type != "m.room.member" || e.StateKey == nil {
		return "", m, false
	}
	err := json.Unmarshal(e.Content, &m)
	return *e.StateKey, m, err == nil
}

// ownMembership tells what an event changes about user's membership: "join",
// "leave" (also by ban), or "" for nothing, such as a new display name.
func (e wireEvent) ownMembership(user string) string {
	whose, m, ok := e.member()
	if !ok || whose != user || m.Membership == e.Unsigned.PrevContent.Membership {
		return ""
	}
	switch m.Membership {
	case "join", "leave":
		return m.Membership
	case "ban":
		return "leave"
	}
	return ""
}
