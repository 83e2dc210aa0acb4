package state

import (
	"context"
	"database/sql"
	"errors"

	"matrix-tui/state/event"
)

// Adapter adapts what moves to a room's successor.
type Adapter struct {
	Key     func(event string) string // returns the key of a task in the successor
	Message func(Message) Message     // adapts the relation, Status and Error of an unsent message
}

// MoveRoom moves a room's pending events, unfinished tasks, unsent messages, entries and what it has used of the model
// to its successor, adapted by adapt. The old room keeps archived copies of the events, so
// that they are still known if they arrive again. closes names events of the old room
// that are marked Done in the same transaction.
func (j *Journal) MoveRoom(ctx context.Context, from, to string, adapt Adapter, closes ...string) error {
	if from == to {
		return nil
	}
	if to == "" {
		return errors.New("move room: no successor")
	}
	return j.change(ctx, "move room", func(tx *sql.Tx) error {
		if err := replyIn(ctx, tx, from, nil, closes); err != nil {
			return err
		}
		if err := moveEvents(ctx, tx, from, to); err != nil {
			return err
		}
		if err := moveMessages(ctx, tx, from, adapt.Message); err != nil {
			return err
		}
		if err := moveActive(ctx, tx, from, to); err != nil { // while the tasks are there
			return err
		}
		if err := moveTasks(ctx, tx, from, to, adapt.Key); err != nil {
			return err
		}
		if err := moveSpending(ctx, tx, from, to); err != nil {
			return err
		}
		if err := moveEntries(ctx, tx, from, to); err != nil {
			return err
		}
		if err := moveNotes(ctx, tx, from, to); err != nil {
			return err
		}
		return run(ctx, tx, "UPDATE message SET room = ? WHERE room = ? AND status = 0", to, from)
	})
}

// moveEvents moves the pending events, except for what is about the old room itself; home keeps the room that they were
// sent to.
func moveEvents(ctx context.Context, tx *sql.Tx, from, to string) error {
	err := run(ctx, tx, `INSERT INTO event
		(room, event, home, sender, type, state_key, time, encryption, session, distrust, rel_type, relates_to, body, raw, status, at)
		SELECT ?, event, CASE home WHEN '' THEN room ELSE home END,
		sender, type, state_key, time, encryption, session, distrust, rel_type, relates_to, body, raw, status, at FROM event
		WHERE room = ? AND `+pending+` AND type NOT IN ('`+event.TypeTombstone+`', '`+event.TypeMember+`', '`+event.TypeInvite+`', '`+event.TypeGone+`')
		ORDER BY seq ON CONFLICT (room, event) DO NOTHING`, to, from)
	if err != nil {
		return err
	}
	return run(ctx, tx, "UPDATE event SET status = ? WHERE room = ? AND "+pending, Archived, from)
}

// moveActive notes when the room was last active for its successor, which continues its session: the tasks that are
// done stay behind.
func moveActive(ctx context.Context, tx *sql.Tx, from, to string) error {
	at, err := lastActive(ctx, tx, from)
	if err != nil || at == 0 {
		return err
	}
	return run(ctx, tx, `INSERT INTO meta (key, value) VALUES ('active ' || ?1, ?2)
		ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE CAST(value AS INTEGER) < ?2`, to, at)
}

// moveTasks moves the tasks. Each gets a new key, so that new messages have new
// transaction IDs; unsent messages keep theirs.
func moveTasks(ctx context.Context, tx *sql.Tx, from, to string, key func(event string) string) error {
	tasks, err := queryAll(ctx, tx, scanTask, queryTasksToMove, from)
	if err != nil {
		return err
	}
	for _, t := range tasks {
		if err := run(ctx, tx, "UPDATE message SET task = ? WHERE task = ? AND status = 0", key(t.Event),
			t.Key); err != nil {
			return err
		}
		if err := run(ctx, tx, "UPDATE task SET room = ?, key = ? WHERE key = ?", to, key(t.Event),
			t.Key); err != nil {
			return err
		}
	}
	return nil
}

func moveMessages(ctx context.Context, tx *sql.Tx, from string, adapt func(Message) Message) error {
	rows, err := queryAll(ctx, tx, scanMessage, "SELECT "+messageColumns+" FROM message WHERE room = ? AND status = 0",
		from)
	if err != nil {
		return err
	}
	for _, row := range rows {
		row = adapt(row)
		_, err := tx.ExecContext(ctx, "UPDATE message SET relation = ?, target = ?, thread = ?, status = ?, error = ? "+
			"WHERE seq = ?",
			row.Relation, row.Target, row.Thread, row.Status, row.Error, row.Seq)
		if err != nil {
			return err
		}
	}
	return nil
}
