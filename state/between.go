package state

import (
	"context"
	"errors"
	"slices"
)

const (
	querySaidAfter = "SELECT event FROM event WHERE room = ? AND seq > ? AND type IN ('m.room.message', " +
		"'m.room.encrypted') AND rel_type <> 'm.replace' AND sender <> ? ORDER BY seq LIMIT ?"
	queryTextAfter = "SELECT 1 FROM message INDEXED BY message_at WHERE at >= ? AND room = ? AND task <> ? AND relation " +
		"NOT IN ('edit', 'reaction', 'redaction') AND kind <> 'greeting' AND status <> 2 LIMIT 1"
)

// SaidAfter reports whether something has been said in a room since an event: by anybody but self, except in the events
// of but, or by us, except about the task and for the greeting. It is true as well if the event is unknown.
func (j *Messages) SaidAfter(ctx context.Context, room, event, self, task string, but []string) (bool, error) {
	from, err := (&Events{j.core}).Get(ctx, room, event)
	if errors.Is(err, ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	said, err := list(ctx, j.core, "look up later messages", scanText, querySaidAfter, room, from.Seq, self, len(but)+1)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(said, func(one string) bool { return !slices.Contains(but, one) }) {
		return true, nil
	}
	return value[bool](ctx, j.core, "look up later messages of ours", queryTextAfter, from.At.UnixMilli(), room, task)
}
