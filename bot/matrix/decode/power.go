package decode

import (
	"encoding/json"
	"slices"
	"strconv"

	"matrix-tui/state/event"
)

// powerKeys are the keys that are read of an m.room.power_levels.
var powerKeys = keys{"users": nil, "users_default": nil, "events": nil, "events_default": nil}

// MaySend reports whether the content of an m.room.power_levels lets a user send
// messages of a type
// (https://spec.matrix.org/v1.11/client-server-api/#mroompower_levels). It is
// ErrMalformed for content that cannot be trusted.
func MaySend(content json.RawMessage, user, eventType string) (bool, error) {
	o, err := parse(content)
	if err != nil {
		return false, err
	}
	if err := o.check(powerKeys); err != nil {
		return false, err
	}
	return o.object("users").level(user, o.level("users_default", 0)) >= o.object("events").level(eventType,
		o.level("events_default", 0)), nil
}

// IsCreator reports whether a user is a creator of the room that an m.room.create event
// created. From room version 12 on, creators have every power and are not among the users
// of m.room.power_levels (https://spec.matrix.org/v1.16/rooms/v12/).
func IsCreator(create event.Event, user string) bool {
	o, err := parse(create.Content)
	if err != nil || !create.IsState(event.TypeCreate) {
		return false
	}
	version, err := strconv.Atoi(o.text("room_version"))
	if old := o["room_version"] == nil || err == nil && version < 12; old {
		return false
	}
	also, _ := o["additional_creators"].([]any)
	return create.Sender == user || slices.Contains(also, any(user))
}

// level is the power level at a key: a number, or, in old rooms, a number in a string.
func (o object) level(key string, otherwise int64) int64 {
	text, ok := o[key].(string)
	if number, isNumber := o[key].(json.Number); isNumber {
		text, ok = number.String(), true
	}
	if n, err := strconv.ParseInt(text, 10, 64); ok && err == nil {
		return n
	}
	return otherwise
}
