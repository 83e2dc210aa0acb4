package decode

import (
	"encoding/json"
	"slices"
)

// maxPresent bounds the result of Present.
const maxPresent = 50

// Present returns who shows up in a room's ephemeral events: who is typing, and whose read receipts have come
// (https://spec.matrix.org/v1.11/client-server-api/#typing-notifications, …/#receipts). typing is who is typing now,
// nil if the events do not tell. What is malformed is left out.
func Present(events []json.RawMessage) (users, typing []string) {
	add := func(user string) {
		if len(users) < maxPresent && !slices.Contains(users, user) {
			users = append(users, user)
		}
	}
	for _, raw := range events {
		o, err := parse(raw)
		if err != nil || o.check(keys{"type": nil, "content": {"user_ids": nil}}) != nil {
			continue
		}
		content := o.object("content")
		switch o.text("type") {
		case "m.typing":
			all := content.texts("user_ids")
			typing = append([]string{}, all[:min(len(all), maxPresent)]...)
			for _, user := range typing {
				add(user)
			}
		case "m.receipt":
			for id := range content {
				for _, kind := range []string{"m.read", "m.read.private"} {
					for user := range content.object(id).object(kind) {
						add(user)
					}
				}
			}
		}
	}
	return users, typing
}
