package bot

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"matrix-tui/state"
)

// standIn makes the row for a thing that has no event ID; key makes it the
// same row when the same batch comes again.
func standIn(room, kind, sender, key string, content any) state.Inbound {
	sum := sha256.Sum256([]byte(kind + "\x00" + room + "\x00" + key))
	e := wireEvent{ID: "$" + kind + "-" + hex.EncodeToString(sum[:12]), Type: kind, Sender: sender, Time: time.Now().UnixMilli()}
	raw, _ := json.Marshal(map[string]any{"event_id": e.ID, "type": e.Type, "sender": e.Sender, "origin_server_ts": e.Time, "content": content})
	return inbound(room, e, raw, kindInvite)
}

// inviteRow makes a row of an invite; who invited is in the stripped state.
func (b *Bot) inviteRow(room, key string, stripped []json.RawMessage) []state.Inbound {
	for _, raw := range stripped {
		var e wireEvent
		if json.Unmarshal(raw, &e) != nil {
			continue
		}
		if user, m, ok := e.member(); ok && b.isSelf(user) && m.Membership == "invite" {
			return []state.Inbound{standIn(room, typeInvite, e.Sender, key, m)}
		}
	}
	return nil
}
