package bot

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"matrix-tui/state"
	"matrix-tui/state/event"
)

// standIn makes the row for a thing that has no event ID; key makes it the
// same row when the same batch comes again.
func standIn(room, kind, sender, key string, body event.Body) state.Event {
	sum := sha256.Sum256([]byte(kind + "\x00" + room + "\x00" + key))
	return state.Event{Status: state.Pending, Event: event.Event{
		ID: "$" + kind + "-" + hex.EncodeToString(sum[:12]), Type: kind, Sender: sender, Room: room, Time: time.Now().UTC(), Body: body,
	}}
}
