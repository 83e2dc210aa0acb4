package state

import (
	"context"
	"encoding/json"
	"slices"

	"matrix-tui/state/scrub"
)

// Of returns the name of the room's container, "" if it has none.
func (s Containers) Of(room string) string { return s.get(room).container }

// All returns all container names by room.
func (s Containers) All() map[string]string {
	return s.texts(func(r room) string { return r.container })
}

// Set sets the room's container.
func (s Containers) Set(ctx context.Context, id, name string) error {
	return s.update(ctx, id, func(r *room) { r.container = name })
}

// Drop removes the room's container; its history and session stay.
func (s Containers) Drop(ctx context.Context, room string) error { return s.Set(ctx, room, "") }

// Of returns the packages that were installed in a container of the room that has been replaced, and that are to
// be installed in the new one.
func (s Packages) Of(room string) []string { return slices.Clone(s.get(room).packages) }

// Add adds packages that are to be installed in the room's next container. A note replaces those beyond
// maxPackages.
func (s Packages) Add(ctx context.Context, id string, names []string) error {
	return s.update(ctx, id, func(r *room) { r.addPackages(names) })
}

// Drop removes the room's packages: they are installed, or cannot be.
func (s Packages) Drop(ctx context.Context, id string) error {
	return s.update(ctx, id, func(r *room) { r.packages = nil })
}

// Session returns the ID of the agent's session in the room, "" if it has none.
func (s Conversations) Session(room string) string { return s.get(room).session }

// SetSession stores the agent's session of the room; "" removes it.
func (s Conversations) SetSession(ctx context.Context, id, session string) error {
	return s.update(ctx, id, func(r *room) { r.session = session })
}

// EndSession removes the agent's session of the room for somebody who wants a new one. A task that began earlier sees
// that in SessionMark.
func (s Conversations) EndSession(ctx context.Context, id string) error {
	return s.update(ctx, id, (*room).endSession)
}

// SessionMark returns the agent's session of the room. If it has none, it returns what distinguishes the time since the
// last EndSession from the time before: "" if there was none.
func (s Conversations) SessionMark(room string) string {
	r := s.get(room)
	if r.session == "" && r.reset != "" {
		return "none " + r.reset
	}
	return r.session
}

// History returns the conversation in the room, oldest first, at most MaxTurns turns.
func (s Conversations) History(ctx context.Context, room string) ([]Turn, error) {
	r := s.get(room)
	if r.unread {
		var err error
		if r.history, err = s.journal.history(ctx, room); err != nil {
			return nil, err
		}
	}
	return r.history.decode(), nil
}

// Any reports whether the room has a history.
func (s Conversations) Any(room string) bool {
	r := s.get(room)
	return r.talked()
}

// Append adds turns at the end of the room's history. A turn whose event and role already exist is not added
// again.
func (s Conversations) Append(ctx context.Context, id string, more ...Turn) error {
	return s.updateHistory(ctx, id, func(r *room) { r.history = r.history.with(more) })
}

// Set replaces the room's history; without turns the room has none.
func (s Conversations) Set(ctx context.Context, id string, all []Turn) error {
	return s.update(ctx, id, func(r *room) { r.history, r.unread = turns(nil).with(all), false })
}

// Compact removes the room's session and puts one turn in place of all but the newest turns of its history, in one
// write; newest says how many. If the session is another one by now, it changes nothing.
func (s Conversations) Compact(ctx context.Context, id, session string, summary Turn, newest func([]Turn) int) error {
	return s.updateHistory(ctx, id, func(r *room) {
		if session == "" || r.session != session {
			return
		}
		r.session = ""
		old := r.history.window()
		r.history = append(turns{encodeTurn(summary)}, old[max(0, len(old)-newest(old.decode())):]...).window()
	})
}

// Redact removes what a message said from a room's history. If it was there, the agent's session may have it, and ends:
// see EndSession.
func (s Conversations) Redact(ctx context.Context, id, event string) error {
	return s.updateHistory(ctx, id, func(r *room) {
		old := r.history
		r.history = slices.Clone(old)
		for i, raw := range old {
			var t Turn
			if json.Unmarshal(raw, &t) == nil && t.Role == "user" && t.Event == event && t.Content != scrub.Deleted {
				t.Content = scrub.Deleted
				r.history[i] = encodeTurn(t)
				r.endSession()
			}
		}
	})
}

// Scrub scrubs the history of a room. It reports whether there was anything.
func (s Conversations) Scrub(ctx context.Context, id string, change *scrub.Scrub) (found bool, err error) {
	if len(change.Needles) == 0 {
		return false, nil
	}
	err = s.updateHistory(ctx, id, func(r *room) {
		old := r.history
		r.history = slices.Clone(old)
		for i, raw := range old {
			out, was, _ := scrub.JSON(raw, change) // what does not parse is no turn
			r.history[i] = out
			found = found || len(was) > 0
		}
		if !found {
			r.history = old
		}
	})
	return found, err
}
