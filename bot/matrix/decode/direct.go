package decode

import (
	"encoding/json"
	"fmt"

	"matrix-tui/state/event"
)

// DirectEvent decodes an event of the account data. ok is false if it is not a valid
// m.direct; the result holds the rooms by user
// (https://spec.matrix.org/v1.11/client-server-api/#direct-messaging).
func DirectEvent(raw json.RawMessage) (users map[string][]string, ok bool) {
	o, err := parse(raw)
	if err != nil || o.check(eventKeys) != nil || o.text("type") != event.TypeDirect || o.object("content") == nil {
		return nil, false
	}
	return direct(o.object("content")), true
}

// Direct decodes the content of an m.direct.
func Direct(content json.RawMessage) (map[string][]string, error) {
	o, err := parse(content)
	if err != nil {
		return nil, fmt.Errorf("decode direct chats: %w", err)
	}
	return direct(o), nil
}

func direct(content object) map[string][]string {
	users := map[string][]string{}
	for user := range content {
		users[user] = content.texts(user)
	}
	return users
}
