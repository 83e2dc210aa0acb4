package decode

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"matrix-tui/state/event"
)

// The keys that we, or the libraries that we pass an event to, read. All other keys
// are ignored and may have any spelling.
var (
	eventKeys = keys{
		"event_id": nil, "type": nil, "sender": nil, "state_key": nil, "room_id": nil, "origin_server_ts": nil,
		"content": nil, "redacts": nil,
		"unsigned": {"transaction_id": nil, "prev_content": {"membership": nil}},
	}
	relationKeys = keys{"rel_type": nil, "event_id": nil, "key": nil, "is_falling_back": nil,
		"m.in_reply_to": {"event_id": nil}}
	fileKeys = keys{
		"url": nil, "iv": nil, "v": nil, "hashes": {"sha256": nil},
		"key": {"k": nil, "alg": nil, "ext": nil, "kty": nil, "key_ops": nil},
	}
	textKeys = keys{
		"msgtype": nil, "body": nil, "filename": nil, "format": nil, "formatted_body": nil, "url": nil, "file": fileKeys,
		"info": {"mimetype": nil, "size": nil}, "m.mentions": {"user_ids": nil}, "m.relates_to": relationKeys,
		event.TxnKey: nil,
		"m.voice":    nil, "org.matrix.msc3245.voice": nil, "geo_uri": nil,
	}
	contentKeys = map[string]keys{
		event.TypeMessage:    with(textKeys, keys{"m.new_content": textKeys}, verificationKeys),
		event.TypeSticker:    with(textKeys, keys{"m.new_content": textKeys}),
		event.TypePoll:       {event.TypePoll: pollKeys, "m.relates_to": relationKeys, event.TxnKey: nil},
		event.TypePollEarly:  {event.TypePollEarly: pollKeys, "m.relates_to": relationKeys, event.TxnKey: nil},
		event.TypeReaction:   {"m.relates_to": relationKeys, event.TxnKey: nil},
		event.TypeRedaction:  {"redacts": nil, event.TxnKey: nil},
		event.TypeMember:     {"membership": nil, "is_direct": nil, "displayname": nil},
		event.TypeName:       {"name": nil},
		event.TypeTombstone:  {"replacement_room": nil},
		event.TypeCreate:     {"predecessor": {"room_id": nil}, "room_version": nil, "additional_creators": nil},
		event.TypeEncryption: {"algorithm": nil, "rotation_period_ms": nil, "rotation_period_msgs": nil},
		event.TypeVisibility: {"history_visibility": nil},
		event.TypeEncrypted: {
			"algorithm": nil, "ciphertext": nil, "sender_key": nil, "device_id": nil, "session_id": nil,
			"m.relates_to": relationKeys, event.TxnKey: nil,
		},
	}
	pollKeys         = keys{"question": {"m.text": nil, "org.matrix.msc1767.text": nil, "body": nil}, "answers": nil}
	verificationKeys = keys{
		"from_device": nil, "methods": nil, "method": nil, "transaction_id": nil, "timestamp": nil, "to": nil, "hash": nil,
		"hashes": nil,
		"key":    nil, "keys": nil, "mac": nil, "commitment": nil, "message_authentication_code": nil,
		"message_authentication_codes": nil,
		"short_authentication_string":  nil, "key_agreement_protocol": nil, "key_agreement_protocols": nil, "code": nil,
		"reason":       nil,
		"m.relates_to": relationKeys,
	}
)

// with merges sets of keys.
func with(sets ...keys) keys {
	all := keys{}
	for _, set := range sets {
		for key, below := range set {
			all[key] = below
		}
	}
	return all
}

// keysOf returns the keys that are read in the content of a type of event.
func keysOf(eventType string) keys {
	if strings.HasPrefix(eventType, "m.key.verification.") {
		return verificationKeys
	}
	return contentKeys[eventType]
}

// Timeline decodes events of a room. It leaves out those that are malformed or have
// no ID and calls reject with the reason.
func Timeline(room string, raws []json.RawMessage, reject func(error)) []event.Event {
	var events []event.Event
	for _, raw := range raws {
		e, err := FromServer(raw)
		if err == nil && e.ID == "" {
			err = fmt.Errorf("%w: no event_id", ErrMalformed)
		}
		if err != nil {
			reject(err)
			continue
		}
		e.Room = room
		events = append(events, e)
	}
	return events
}

// FromServer decodes an event that the homeserver sent. In addition to what [Event]
// rejects, it rejects types that only this program makes.
func FromServer(raw json.RawMessage) (event.Event, error) {
	e, err := Event(raw)
	if err == nil && strings.HasPrefix(e.Type, event.OwnTypes) {
		return event.Event{}, fmt.Errorf("%w: type reserved for this program", ErrMalformed)
	}
	return e, err
}

// Event decodes an event. It returns ErrMalformed if a required key is missing, a key
// that we read appears twice or in another case, or a limit is exceeded.
func Event(raw json.RawMessage) (event.Event, error) {
	o, err := parse(raw)
	if err != nil {
		return event.Event{}, err
	}
	if err := o.check(eventKeys); err != nil {
		return event.Event{}, err
	}
	e := event.Event{
		ID: o.text("event_id"), Type: o.text("type"), Sender: o.text("sender"), Room: o.text("room_id"),
		Time: time.UnixMilli(o.integer("origin_server_ts")).UTC(), Raw: raw,
	}
	if e.Type == "" || e.Sender == "" {
		return event.Event{}, fmt.Errorf("%w: no type or no sender", ErrMalformed)
	}
	if key, ok := o["state_key"].(string); ok {
		e.StateKey = &key
	} else if o["state_key"] != nil {
		return event.Event{}, fmt.Errorf("%w: state_key is not a string", ErrMalformed)
	}
	content := o.object("content")
	if err := content.check(keysOf(e.Type)); err != nil {
		return event.Event{}, err
	}
	e.Body = body(e, content)
	// without ciphertext it was redacted
	if e.Type == event.TypeEncrypted && e.StateKey == nil && content["ciphertext"] != nil {
		e.Encryption, e.Session = event.MissingKey, content.text("session_id")
	}
	unsigned := o.object("unsigned")
	switch {
	case e.Body.Member != nil:
		e.Body.Member.Before = unsigned.object("prev_content").text("membership")
	case e.Type == event.TypeRedaction && e.Body.Redacts == "":
		e.Body.Redacts = o.text("redacts") // before room version 11
	}
	if e.Transaction = content.text(event.TxnKey); e.Transaction == "" {
		e.Transaction = unsigned.text("transaction_id")
	}
	if content != nil {
		if e.Content, err = json.Marshal(content); err != nil {
			return event.Event{}, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
	}
	return e, nil
}

// State decodes the content of a room's state event with an empty state key, which
// the homeserver returns without the event.
func State(eventType string, content json.RawMessage) (event.Event, error) {
	o, err := parse(content)
	if err != nil {
		return event.Event{}, err
	}
	if err := o.check(keysOf(eventType)); err != nil {
		return event.Event{}, err
	}
	e := event.Event{Type: eventType, StateKey: new(string), Content: content}
	e.Body = body(e, o)
	return e, nil
}
