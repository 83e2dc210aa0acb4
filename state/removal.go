package state

import (
	"context"
	"encoding/json"

	"matrix-tui/state/scrub"
)

// Redact removes what a message said from a room's history. If it was there, the agent's session may have it, and ends:
// see EndSession.
func (s Conversations) Redact(ctx context.Context, room, event string) error {
	return s.update(ctx, func(c *contents) bool {
		var kept turns
		found := false
		for _, raw := range c.history[room] {
			var t Turn
			if json.Unmarshal(raw, &t) == nil && t.Role == "user" && t.Event == event && t.Content != scrub.Deleted {
				t.Content, found = scrub.Deleted, true
				raw = encodeTurn(t)
			}
			kept = append(kept, raw)
		}
		if found {
			c.history[room] = kept
			c.endSession(room)
		}
		return found
	}, room)
}

// Scrub scrubs the history of a room. It reports whether there was anything.
func (s Conversations) Scrub(ctx context.Context, room string, change *scrub.Scrub) (found bool, err error) {
	if len(change.Needles) == 0 {
		return false, nil
	}
	err = s.update(ctx, func(c *contents) bool {
		found = false
		var kept turns
		for _, raw := range c.history[room] {
			out, was, _ := scrub.JSON(raw, change) // what does not parse is no turn
			kept, found = append(kept, out), found || len(was) > 0
		}
		if found {
			c.history[room] = kept
		}
		return found
	}, room)
	return found, err
}
