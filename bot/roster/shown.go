package roster

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"matrix-tui/bot/matrix"
)

// IsMember reports whether a user has joined a room.
func (r *Roster) IsMember(ctx context.Context, room, user string) (bool, error) {
	known, _ := r.members.Of(room)
	if in, ok := known[user]; ok {
		return in, nil
	}
	v := r.members.Version(room)
	call, cancel := context.WithTimeout(ctx, matrix.CallTimeout)
	defer cancel()
	in, err := r.Account.Rooms.HasJoined(call, room, user) // not if the bot is no longer a member
	if err != nil && (matrix.Temporary(err) || ctx.Err() != nil) {
		return false, fmt.Errorf("look up member of %s: %w", room, err)
	}
	next := map[string]bool{}
	if len(known) < maxAsked {
		maps.Copy(next, known)
	}
	next[user] = in && err == nil
	r.members.Learn(room, v, next)
	return next[user], nil
}

// maxAsked bounds about how many people of a room something is known.
const maxAsked = 1000

// Name returns a room's name, or "" if it has none or the homeserver does not tell it.
func (r *Roster) Name(ctx context.Context, room string) string {
	name, _ := r.names.get(ctx, room, func(ctx context.Context) (string, error) {
		name, err := r.Account.Rooms.Name(ctx, room)
		return strings.TrimSpace(name), err
	})
	return name
}

// Named returns a room's name if it is known, without a request.
func (r *Roster) Named(room string) (name string, known bool) { return r.names.Of(room) }
