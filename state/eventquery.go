package state

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"matrix-tui/state/event"
)

// Queries on events. A test checks that none of them scans the table.
const (
	eventColumns = "seq, room, event, home, sender, type, state_key, time, encryption, session, distrust, body, raw, " +
		"status, kind, addressee, at"

	queryEvent     = "SELECT " + eventColumns + " FROM event WHERE room = ? AND event = ?"
	queryLastEvent = "SELECT event FROM event WHERE room = ? AND type <> '" + event.TypeLost +
		"' ORDER BY seq DESC LIMIT 1"
	queryNewest = "SELECT " + eventColumns +
		" FROM event WHERE home = '' AND type NOT LIKE 'io.matrix-tui.%' ORDER BY seq DESC LIMIT ?"
	queryBeenIn = "SELECT 1 FROM event WHERE room = ? AND home = '' AND type NOT LIKE '" + event.OwnTypes +
		"%' LIMIT 1"
	queryBefore = "SELECT " + eventColumns +
		" FROM event WHERE room = ? AND seq < ? AND type IN ('m.room.message', 'm.room.encrypted') AND encryption <> " +
		"'cleartext' ORDER BY seq DESC LIMIT ?"
	queryPending = "SELECT " + eventColumns + " FROM event WHERE room = ? AND " + pending +
		" AND seq > ? AND seq < (" + queryHidden + ") ORDER BY seq LIMIT ?"
	queryPendingType = "SELECT " + eventColumns + " FROM event WHERE room = ? AND " + pending +
		" AND type = ? ORDER BY seq LIMIT 1"
	queryPendingOf = "SELECT " + eventColumns + " FROM event INDEXED BY event_pending WHERE " + pending +
		" AND type = ? ORDER BY room, seq"
	queryBusyRooms = "SELECT DISTINCT room FROM event WHERE " + pending + " AND type NOT IN ('" + event.TypeTombstone +
		"', '" + event.TypeMember + "', '" + event.TypeGone + "') ORDER BY room"
	queryPendingEdit = "SELECT " + eventColumns + " FROM event WHERE room = ? AND " + pending +
		" AND rel_type = 'm.replace' AND relates_to = ? AND sender = ? ORDER BY seq DESC LIMIT 1"
	queryLastEdit = "SELECT " + eventColumns +
		" FROM event INDEXED BY event_edits WHERE room = ? AND rel_type = 'm.replace' AND relates_to = ? AND sender = ? " +
		"ORDER BY seq DESC LIMIT 1"
	queryEdits = "SELECT " + eventColumns +
		" FROM event WHERE room = ? AND seq > ? AND rel_type = 'm.replace' AND status <> 0 ORDER BY seq"
	queryPendingRooms = "SELECT DISTINCT room FROM event WHERE " + pending + " ORDER BY room"
	queryUndecrypted  = "SELECT " + eventColumns + " FROM event INDEXED BY event_undecrypted WHERE " + pending +
		" AND encryption IN ('missing key', 'untrusted') AND (room, seq) > (?, ?) ORDER BY room, seq LIMIT ?"
	queryCountKeyless = "SELECT count(*) FROM event WHERE room = ? AND " + pending +
		" AND encryption IN ('missing key', 'untrusted') AND seq <= ?"
	queryAwaiting = "SELECT DISTINCT room FROM event INDEXED BY event_undecrypted WHERE " + pending +
		" AND encryption IN ('missing key', 'untrusted') AND session = ?"
	queryFinishEvents = "UPDATE event SET status = 4 WHERE room = ? AND " + pending + " AND seq < ?"
)

// NextBatch returns the sync token of the last Commit, or "" before the first.
func (j *Events) NextBatch(ctx context.Context) (string, error) {
	return value[string](ctx, j.core, "read sync token", "SELECT value FROM meta WHERE key = 'next_batch'")
}

// Known returns which of the events of a room are in the journal with a Seq below
// before.
func (j *Events) Known(ctx context.Context, room string, before int64, events []string) (map[string]bool, error) {
	known := make(map[string]bool, len(events))
	for chunk := range slices.Chunk(events, 500) {
		args := make([]any, 0, len(chunk)+2)
		args = append(args, room, before)
		for _, event := range chunk {
			args = append(args, event)
		}
		marks := strings.Repeat("?, ", len(chunk)-1) + "?"
		found, err := list(ctx, j.core, "look up events", scanText,
			"SELECT event FROM event WHERE room = ? AND seq < ? AND event IN ("+marks+")", args...)
		if err != nil {
			return nil, err
		}
		for _, event := range found {
			known[event] = true
		}
	}
	return known, nil
}

// Last returns the ID of the room's event that arrived last, or "".
func (j *Events) Last(ctx context.Context, room string) (string, error) {
	return value[string](ctx, j.core, "look up last event", queryLastEvent, room)
}

// LastArrival returns when the room's newest event came, or the zero time.
func (j *Events) LastArrival(ctx context.Context, room string) (time.Time, error) {
	last, err := j.Last(ctx, room)
	if err != nil || last == "" {
		return time.Time{}, err
	}
	e, err := j.Get(ctx, room, last)
	return e.At, err
}

// Newest returns the n newest events that a homeserver sent, newest first.
func (j *Events) Newest(ctx context.Context, n int) ([]Event, error) {
	return list(ctx, j.core, "look up newest events", scanEvent, queryNewest, n)
}

// BeenIn reports whether the journal has an event of the room that did not move there
// from its predecessor.
func (j *Events) BeenIn(ctx context.Context, room string) (bool, error) {
	return value[bool](ctx, j.core, "look up events of room", queryBeenIn, room)
}

// Get returns an event, or ErrNotFound.
func (j *Events) Get(ctx context.Context, room, event string) (Event, error) {
	return one(ctx, j.core, "look up event", scanEvent, queryEvent, room, event)
}

// Before returns the last n messages of a room that arrived before seq, oldest first.
func (j *Events) Before(ctx context.Context, room string, seq int64, n int) ([]Event, error) {
	rows, err := list(ctx, j.core, "look up earlier messages", scanEvent, queryBefore, room, seq, n)
	slices.Reverse(rows)
	return rows, err
}

// Pending returns at most n of the room's pending events after seq, in order. It leaves
// out those that wait for a [Gap].
func (j *Events) Pending(ctx context.Context, room string, seq int64, n int) ([]Event, error) {
	return list(ctx, j.core, "look up pending events", scanEvent, queryPending, room, seq, room, n)
}

// PendingType returns the room's oldest pending event of a type, or ErrNotFound.
func (j *Events) PendingType(ctx context.Context, room, eventType string) (Event, error) {
	return one(ctx, j.core, "look up pending event", scanEvent, queryPendingType, room, eventType)
}

// PendingOf returns the pending events of a type in all rooms, in the order of each room.
func (j *Events) PendingOf(ctx context.Context, eventType string) ([]Event, error) {
	return list(ctx, j.core, "look up pending events", scanEvent, queryPendingOf, eventType)
}

// PendingEdit returns a sender's newest pending edit of an event, or ErrNotFound.
func (j *Events) PendingEdit(ctx context.Context, room, event, sender string) (Event, error) {
	return one(ctx, j.core, "look up pending edit", scanEvent, queryPendingEdit, room, event, sender)
}

// LastEdit returns a sender's newest edit of an event, or ErrNotFound.
func (j *Events) LastEdit(ctx context.Context, room, event, sender string) (Event, error) {
	return one(ctx, j.core, "look up newest edit", scanEvent, queryLastEdit, room, event, sender)
}

// Edits returns the edits in a room that arrived after seq, oldest first, without those that are only archived.
func (j *Events) Edits(ctx context.Context, room string, seq int64) ([]Event, error) {
	return list(ctx, j.core, "look up edits", scanEvent, queryEdits, room, seq)
}

// In returns at most n events that wait for their key or for trust in their
// device, ordered by room and arrival. room and seq are those of the last event of the
// previous page.
func (j *Undecrypted) In(ctx context.Context, room string, seq int64, n int) ([]Event, error) {
	return list(ctx, j.core, "look up undecrypted events", scanEvent, queryUndecrypted, room, seq, n)
}

// Count returns the number of such events in a room, up to and including
// seq.
func (j *Undecrypted) Count(ctx context.Context, room string, seq int64) (int, error) {
	return value[int](ctx, j.core, "count undecrypted events", queryCountKeyless, room, seq)
}

// RoomsAwaiting returns the rooms with events that wait for the key of a session.
func (j *Undecrypted) RoomsAwaiting(ctx context.Context, session string) ([]string, error) {
	return list(ctx, j.core, "look up rooms that wait for a key", scanText, queryAwaiting, session)
}

// UnfinishedRooms returns the rooms that have a pending event or an open task.
func (j *Events) UnfinishedRooms(ctx context.Context) ([]string, error) {
	return j.openRooms(ctx, queryPendingRooms)
}

// BusyRooms is UnfinishedRooms without the rooms of which only an upgrade is pending, or what happens to its members.
func (j *Events) BusyRooms(ctx context.Context) ([]string, error) {
	return j.openRooms(ctx, queryBusyRooms)
}

func (j *Events) openRooms(ctx context.Context, query string) ([]string, error) {
	rooms, err := list(ctx, j.core, "look up rooms with pending events", scanText, query)
	if err != nil {
		return nil, err
	}
	working, err := list(ctx, j.core, "look up rooms with tasks", scanText, queryTaskRooms)
	rooms = append(rooms, working...)
	slices.Sort(rooms)
	return slices.Compact(rooms), err
}

func scanEvent(row scanner) (e Event, err error) {
	var ms, at int64
	var body, raw string
	err = row.Scan(&e.Seq, &e.Room, &e.ID, &e.Home, &e.Sender, &e.Type, &e.StateKey, &ms, &e.Encryption, &e.Session,
		&e.Distrust, &body, &raw, &e.Status, &e.Kind, &e.Addressee, &at)
	if err != nil {
		return e, err
	}
	if err := readJSON(body, &e.Body); err != nil {
		return e, fmt.Errorf("read body of row %d: %w", e.Seq, err)
	}
	e.Time, e.At = time.UnixMilli(ms).UTC(), time.UnixMilli(at).UTC()
	if raw != "" {
		e.Raw = json.RawMessage(raw)
	}
	return e, nil
}
