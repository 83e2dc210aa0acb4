package decode

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"matrix-tui/state/event"
)

// body decodes the content of an event by the event's type.
func body(e event.Event, content object) (b event.Body) {
	if content == nil {
		return b
	}
	switch e.Type {
	case event.TypeMessage, event.TypeSticker:
		b.Message = message(e.Type, content)
	case event.TypePoll, event.TypePollEarly:
		b.Message = poll(content.object(e.Type), relation(content))
	case event.TypeReaction:
		r := relation(content)
		b.Reaction = &r
	case event.TypeRedaction:
		b.Redacts = content.text("redacts")
	case event.TypeMember, event.TypeInvite:
		b.Member = &event.Member{Membership: content.text("membership"), IsDirect: content.flag("is_direct"),
			Name: content.text("displayname")}
	}
	if !e.IsState(e.Type) {
		return b
	}
	switch e.Type {
	case event.TypeTombstone:
		b.Successor = content.text("replacement_room")
	case event.TypeCreate:
		b.Predecessor = content.object("predecessor").text("room_id")
	case event.TypeVisibility:
		b.Visibility = content.text("history_visibility")
	case event.TypeName:
		b.Name = content.text("name")
	}
	return b
}

func message(eventType string, content object) *event.Message {
	m := &event.Message{
		MsgType: content.text("msgtype"), Body: content.text("body"), FileName: content.text("filename"),
		RelatesTo:     relation(content),
		FormattedBody: formatted(content), Mentions: mentions(content),
	}
	if m.RelatesTo.InReplyTo != "" {
		m.Body = withoutQuote(m.Body)
	}
	if eventType == event.TypeSticker {
		m.MsgType = event.TypeSticker
	}
	if place := content.text("geo_uri"); m.MsgType == "m.location" && !strings.Contains(m.Body, place) {
		m.Body = strings.TrimSpace(m.Body + "\n" + place)
	}
	if next := content.object("m.new_content"); next != nil {
		m.NewContent = &event.Text{
			MsgType: next.text("msgtype"), Body: next.text("body"), FileName: next.text("filename"),
			FormattedBody: formatted(next), Mentions: mentions(next),
		}
	}
	if m.IsFile() {
		m.File = fileInfo(content)
	}
	return m
}

// withoutQuote returns a reply without the quote that older clients put before it.
func withoutQuote(body string) string {
	if !strings.HasPrefix(body, "> <") && !strings.HasPrefix(body, "> * <") {
		return body
	}
	rest := body
	for strings.HasPrefix(rest, "> ") {
		_, rest, _ = strings.Cut(rest, "\n")
	}
	return cmp.Or(strings.TrimSpace(rest), body)
}

// poll decodes a poll as a message: the question and the numbered answers. Both forms of a text are read
// (https://github.com/matrix-org/matrix-spec-proposals/pull/3381 and 1767).
func poll(start object, relates event.Relation) *event.Message {
	said := func(o object) string {
		if list, ok := o["m.text"].([]any); ok && len(list) > 0 {
			first, _ := list[0].(object)
			return first.text("body")
		}
		return cmp.Or(o.text("org.matrix.msc1767.text"), o.text("body"))
	}
	body := said(start.object("question"))
	answers, _ := start["answers"].([]any)
	for i, answer := range answers[:min(len(answers), maxAnswers)] {
		if one, ok := answer.(object); ok {
			body += fmt.Sprintf("\n%d. %s", i+1, said(one))
		}
	}
	return &event.Message{MsgType: event.MsgPoll, Body: body, RelatesTo: relates}
}

// maxAnswers is how many answers of a poll are read; the proposal allows no more.
const maxAnswers = 20

// formatted returns the HTML of a text, or "".
func formatted(content object) string {
	if content.text("format") != "org.matrix.custom.html" {
		return ""
	}
	return content.text("formatted_body")
}

// mentions returns the user IDs in m.mentions; nil means that the client does not support it.
func mentions(content object) []string {
	list := content.object("m.mentions")
	if list == nil {
		return nil
	}
	return append([]string{}, list.texts("user_ids")...)
}

func fileInfo(content object) *event.FileInfo {
	info := content.object("info")
	f := &event.FileInfo{
		URL: content.text("url"), MimeType: info.text("mimetype"), Size: info.count("size"),
		Voice: content.object("m.voice") != nil || content.object("org.matrix.msc3245.voice") != nil,
	}
	if file := content.object("file"); file != nil { // an encrypted file has no url beside it
		key := file.object("key")
		f.URL = file.text("url")
		f.Secret = &event.EncryptedFile{
			Version: file.text("v"), IV: file.text("iv"), SHA256: file.object("hashes").text("sha256"),
			Key: event.JWK{K: key.text("k"), Alg: key.text("alg"), Ext: key.flag("ext"), Kty: key.text("kty"),
				KeyOps: key.texts("key_ops")},
		}
	}
	return f
}

func relation(content object) event.Relation {
	r := content.object("m.relates_to")
	return event.Relation{
		RelType: r.text("rel_type"), EventID: r.text("event_id"), Key: r.text("key"), Fallback: r.flag("is_falling_back"),
		InReplyTo: r.object("m.in_reply_to").text("event_id"),
	}
}

// texts returns the strings in the array at a key and skips other values.
func (o object) texts(key string) (all []string) {
	list, _ := o[key].([]any)
	for _, value := range list {
		if s, ok := value.(string); ok {
			all = append(all, s)
		}
	}
	return all
}

// count returns the number at a key, or 0 if it is negative, too large or no number.
func (o object) count(key string) int64 {
	number, _ := o[key].(json.Number)
	n, err := number.Float64()
	if err != nil || n < 0 || n > 1<<53 {
		return 0
	}
	return int64(n)
}
