package bottest

import (
	"encoding/json"
	"fmt"

	"matrix-tui/bot/bottest/person"
)

// inThread is a text in the thread of root; newest is its last message, for
// clients without threads.
func inThread(root, newest, text string) map[string]any {
	return map[string]any{
		"msgtype": "m.text", "body": text, "m.mentions": person.Mentions(text),
		"m.relates_to": map[string]any{
			"rel_type": "m.thread", "event_id": root,
			"is_falling_back": true, "m.in_reply_to": map[string]any{"event_id": newest},
		},
	}
}

// wireMentions is m.mentions.
type wireMentions struct {
	Mentions *struct {
		Users []string `json:"user_ids"`
		Room  bool     `json:"room"`
	} `json:"m.mentions"`
	New *wireMentions `json:"m.new_content"`
}

// pinged lists whom the content of a message pings, "@room" for everyone. A message without m.mentions is an error:
// clients would guess from its words.
func pinged(raw json.RawMessage) ([]string, error) {
	var c wireMentions
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("read message: %w", err)
	}
	var users []string
	for at := &c; at != nil; at = at.New {
		if at.Mentions == nil {
			return nil, fmt.Errorf("a message has no m.mentions")
		}
		users = append(users, at.Mentions.Users...)
		if at.Mentions.Room {
			users = append(users, "@room")
		}
	}
	return users, nil
}
