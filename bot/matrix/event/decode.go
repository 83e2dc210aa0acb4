package event

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The keys that are read of an event, by us or by the libraries that we give it
// to. What is not named here is never looked at, and may be spelled as it likes.
var (
	eventKeys = keys{
		"event_id": nil, "type": nil, "sender": nil, "state_key": nil, "room_id": nil, "origin_server_ts": nil,
		"content": nil, "redacts": nil, DecryptedKey: nil,
		"unsigned": {"transaction_id": nil, "prev_content": {"membership": nil}},
	}
	relationKeys = keys{"rel_type": nil, "event_id": nil, "key": nil, "is_falling_back": nil, "m.in_reply_to": {"event_id": nil}}
	fileKeys     = keys{
		"url": nil, "iv": nil, "v": nil, "hashes": {"sha256": nil},
		"key": {"k": nil, "alg": nil, "ext": nil, "kty": nil, "key_ops": nil},
	}
	textKeys = keys{
		"msgtype": nil, "body": nil, "filename": nil, "format": nil, "formatted_body": nil, "url": nil, "file": fileKeys,
		"info": {"mimetype": nil, "size": nil}, "m.mentions": {"user_ids": nil}, "m.relates_to": relationKeys, TxnKey: nil,
		"m.voice": nil, "org.matrix.msc3245.voice": nil,
	}
	contentKeys = map[string]keys{
		TypeMessage:    with(textKeys, keys{"m.new_content": textKeys}, verificationKeys),
		TypeSticker:    with(textKeys, keys{"m.new_content": textKeys}),
		TypeReaction:   {"m.relates_to": relationKeys, TxnKey: nil},
		TypeRedaction:  {"redacts": nil, TxnKey: nil},
		TypeMember:     {"membership": nil, "is_direct": nil},
		TypeName:       {"name": nil},
		TypeTombstone:  {"replacement_room": nil},
		TypeCreate:     {"predecessor": {"room_id": nil}},
		TypeEncryption: {"algorithm": nil, "rotation_period_ms": nil, "rotation_period_msgs": nil},
		TypeVisibility: {"history_visibility": nil},
		TypeEncrypted: {
			"algorithm": nil, "ciphertext": nil, "sender_key": nil, "device_id": nil, "session_id": nil,
			"m.relates_to": relationKeys, TxnKey: nil,
		},
	}
	verificationKeys = keys{
		"from_device": nil, "methods": nil, "method": nil, "transaction_id": nil, "timestamp": nil, "to": nil, "hash": nil, "hashes": nil,
		"key": nil, "keys": nil, "mac": nil, "commitment": nil, "message_authentication_code": nil, "message_authentication_codes": nil,
		"short_authentication_string": nil, "key_agreement_protocol": nil, "key_agreement_protocols": nil, "code": nil, "reason": nil,
		"m.relates_to": relationKeys,
	}
)

// with joins sets of keys.
func with(sets ...keys) keys {
	all := keys{}
	for _, set := range sets {
		for key, below := range set {
			all[key] = below
		}
	}
	return all
}

// keysOf are the keys that are read of the content of a type of event.
func keysOf(eventType string) keys {
	if strings.HasPrefix(eventType, "m.key.verification.") {
		return verificationKeys
	}
	return contentKeys[eventType]
}

// Timeline decodes the events of a room that the homeserver sent. Those that are
// malformed, or have no ID, are left out and counted; reject is told why.
func Timeline(raws []json.RawMessage, reject func(error)) []Event {
	var events []Event
	for _, raw := range raws {
		e, err := FromServer(raw)
		if err == nil && e.ID == "" {
			err = fmt.Errorf("%w: no event_id", ErrMalformed)
		}
		if err != nil {
			reject(err)
			continue
		}
		events = append(events, e)
	}
	return events
}

// FromServer decodes an event that the homeserver sent. Beyond what [Decode]
// rejects, it rejects what only this program can have written.
func FromServer(raw json.RawMessage) (Event, error) {
	e, err := Decode(raw)
	if err != nil {
		return Event{}, err
	}
	if e.Decrypted || strings.HasPrefix(e.Type, OwnTypes) {
		return Event{}, fmt.Errorf("%w: it claims to be of this program", ErrMalformed)
	}
	return e, nil
}

// Decode decodes an event. An error is ErrMalformed: the event lacks what every
// event has, one of the keys that we read appears twice or in another case, or
// the bytes are out of bounds.
func Decode(raw json.RawMessage) (Event, error) {
	o, err := parse(raw)
	if err != nil {
		return Event{}, err
	}
	if err := o.check(eventKeys); err != nil {
		return Event{}, err
	}
	e := Event{
		ID: o.text("event_id"), Type: o.text("type"), Sender: o.text("sender"), Room: o.text("room_id"),
		Time: o.integer("origin_server_ts"), Decrypted: o.flag(DecryptedKey), redacts: o.text("redacts"),
		content: o.object("content"), Raw: raw,
	}
	if e.Type == "" || e.Sender == "" {
		return Event{}, fmt.Errorf("%w: no type or no sender", ErrMalformed)
	}
	if key, ok := o["state_key"].(string); ok {
		e.StateKey = &key
	} else if o["state_key"] != nil {
		return Event{}, fmt.Errorf("%w: a state_key that is no string", ErrMalformed)
	}
	if err := e.content.check(keysOf(e.Type)); err != nil {
		return Event{}, err
	}
	unsigned := o.object("unsigned")
	e.membership = unsigned.object("prev_content").text("membership")
	if e.Transaction = e.content.text(TxnKey); e.Transaction == "" {
		e.Transaction = unsigned.text("transaction_id")
	}
	if e.content != nil {
		if e.Content, err = json.Marshal(e.content); err != nil {
			return Event{}, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
	}
	return e, nil
}

// StateContent decodes the content of a room's state event with an empty state
// key, as the homeserver gives it alone.
func StateContent(eventType string, content json.RawMessage) (Event, error) {
	o, err := parse(content)
	if err != nil {
		return Event{}, err
	}
	if err := o.check(keysOf(eventType)); err != nil {
		return Event{}, err
	}
	return Event{Type: eventType, StateKey: new(string), Content: content, content: o}, nil
}

// AccountData decodes an event of the account's data, which has no sender. Only
// Type and Content are set.
func AccountData(raw json.RawMessage) (Event, error) {
	o, err := parse(raw)
	if err != nil {
		return Event{}, err
	}
	if err := o.check(eventKeys); err != nil {
		return Event{}, err
	}
	e := Event{Type: o.text("type"), content: o.object("content")}
	if e.Content, err = json.Marshal(e.content); err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return e, nil
}
