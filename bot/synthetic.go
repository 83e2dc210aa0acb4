package bot

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"matrix-tui/state"
	"matrix-tui/state/event"
)

// syntheticEvent returns a row for something that has no event of its own, such as an
// invitation. The event ID depends on key, so that the same batch makes the same
// row again.
func syntheticEvent(room, kind, sender, key string, body event.Body) state.Event {
	sum := sha256.Sum256([]byte(kind + "\x00" + room + "\x00" + key))
	e := event.Event{ID: "$" + kind + "-" + hex.EncodeToString(sum[:12]), Type: kind, Sender: sender, Room: room, Time: time.Now().UTC(), Body: body}
	return state.Event{Status: state.Pending, Kind: kindOf(e, ""), Event: e}
}
