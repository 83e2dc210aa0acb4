package state

import "context"

// Compact removes the room's session and puts one turn in place of all but the newest turns of its history, in one
// write. If the session is another one by now, it changes nothing.
func (s Conversations) Compact(ctx context.Context, room, session string, summary Turn, newest int) error {
	return s.update(ctx, func(c *contents) bool {
		if session == "" || c.sessions[room] != session {
			return false
		}
		delete(c.sessions, room)
		old := c.history[room].window()
		c.history[room] = append(turns{encodeTurn(summary)}, old[max(0, len(old)-newest):]...).window()
		return true
	}, room)
}
