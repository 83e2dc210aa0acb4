package admit

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"matrix-tui/bot/outbox"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// Synthetic returns a row for something that has no event of its own, such as an
// invitation. The event ID depends on key, so that the same batch makes the same
// row again.
func Synthetic(room, kind, sender, key string, body event.Body) state.Event {
	sum := sha256.Sum256([]byte(kind + "\x00" + room + "\x00" + key))
	e := event.Event{ID: "$" + kind + "-" + hex.EncodeToString(sum[:12]), Type: kind, Sender: sender, Room: room,
		Time: time.Now().UTC(), Body: body}
	return state.Event{Status: state.Pending, Kind: kindOf(e, ""), Event: e}
}

// notice returns a message that notifies nobody.
func notice(room string, kind state.Kind, txn, text string) state.Message {
	return state.Message{Txn: txn, Room: room, Kind: kind, Notice: true, Body: text}
}

// answer returns a notice that replies to a row.
func answer(row state.Event, kind state.Kind, txn, text string) state.Message {
	return outbox.OriginOf(row).Reply(notice(row.Room, kind, txn, text), row.ID, "")
}
