package bot

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"matrix-tui/bot/matrix/event"
	"matrix-tui/state"
)

// standIn makes the row for a thing that has no event ID; key makes it the
// same row when the same batch comes again.
func standIn(room, kind, sender, key string, content any) state.Inbound {
	sum := sha256.Sum256([]byte(kind + "\x00" + room + "\x00" + key))
	e := wireEvent{event.Event{ID: "$" + kind + "-" + hex.EncodeToString(sum[:12]), Type: kind, Sender: sender, Time: time.Now().UnixMilli()}}
	raw, _ := json.Marshal(map[string]any{"event_id": e.ID, "type": e.Type, "sender": e.Sender, "origin_server_ts": e.Time, "content": content})
	return inbound(room, e, raw, kindInvite)
}

// inviteRow makes a row of an invitation.
func inviteRow(room, key string, invite event.Event) state.Inbound {
	_, m, _ := invite.Member()
	return standIn(room, typeInvite, invite.Sender, key, map[string]any{"membership": m.Membership, "is_direct": m.IsDirect})
}
