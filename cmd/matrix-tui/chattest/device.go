package chattest

import (
	"context"
	"encoding/json"
	"fmt"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"
)

// device is a second session of a person, for what package person does not do:
// to write in a thread, and to look at events as they are on the wire.
func (sc *script) device(ctx context.Context, name string) (*mautrix.Client, error) {
	if cli := sc.devices[name]; cli != nil {
		return cli, nil
	}
	if _, err := sc.person(name); err != nil {
		return nil, err
	}
	cli, err := mautrix.NewClient(sc.home.url(), "", "")
	if err != nil {
		return nil, fmt.Errorf("use homeserver: %w", err)
	}
	_, err = cli.Login(ctx, &mautrix.ReqLogin{
		Type:             mautrix.AuthTypePassword,
		Identifier:       mautrix.UserIdentifier{Type: mautrix.IdentifierTypeUser, User: name + "-" + sc.name},
		Password:         "password-" + name,
		StoreCredentials: true,
	})
	if err != nil {
		return nil, fmt.Errorf("log in as %s: %w", name, err)
	}
	sc.devices[name] = cli
	return cli, nil
}

// inThread is a text in the thread of root; newest is its last message, for
// clients without threads.
func inThread(root, newest, text string) map[string]any {
	return map[string]any{
		"msgtype": "m.text", "body": text, "m.mentions": map[string]any{},
		"m.relates_to": map[string]any{
			"rel_type": "m.thread", "event_id": root,
			"is_falling_back": true, "m.in_reply_to": map[string]any{"event_id": newest},
		},
	}
}

// wireMentions is whom a message pings.
type wireMentions struct {
	Mentions *struct {
		Users []string `json:"user_ids"`
		Room  bool     `json:"room"`
	} `json:"m.mentions"`
	New *wireMentions `json:"m.new_content"`
}

// pinged lists whom the content of a message pings, "@room" for all of them.
// Without m.mentions the words themselves would do it: that is an error.
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

// wire is what a user has written into the room, newest first, as it came over
// the wire: 1,000 events of the room at most.
func wire(ctx context.Context, cli *mautrix.Client, room, user string) ([]json.RawMessage, error) {
	var out []json.RawMessage
	from := ""
	for range 5 {
		resp, err := cli.Messages(ctx, id.RoomID(room), from, "", mautrix.DirectionBackward, nil, 200)
		if err != nil {
			return nil, fmt.Errorf("read back in %s: %w", room, err)
		}
		for _, evt := range resp.Chunk {
			if evt.Type.Type == event.EventMessage.Type && evt.Sender.String() == user {
				out = append(out, evt.Content.VeryRaw)
			}
		}
		if resp.End == "" || resp.End == from || len(resp.Chunk) == 0 {
			break
		}
		from = resp.End
	}
	return out, nil
}
