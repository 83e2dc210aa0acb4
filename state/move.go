package state

import (
	"context"
	"database/sql"
	"errors"
)

// Carrier changes what moves to a room's successor, so that it can stand there.
type Carrier struct {
	Key     func(event string) string // the key of a task in the successor
	Message func(Message) Message     // its Content, Status and Error are kept
}

// MoveRoom gives a room's pending events, its tasks that are not done, and what
// is to be sent there to its successor, as the carrier has it. The old room
// keeps archived copies of the events, so that none is taken for new when it
// comes again. The events that closes names (of the old room: what moves it) are
// Done with it.
func (j *Journal) MoveRoom(ctx context.Context, from, to string, carry Carrier, closes ...string) error {
	if from == to {
		return nil
	}
	if to == "" {
		return errors.New("move room: no successor")
	}
	err := j.inTx(ctx, func(tx *sql.Tx) error {
		if err := replyIn(ctx, tx, from, nil, closes); err != nil {
			return err
		}
		if err := carryEvents(ctx, tx, from, to); err != nil {
			return err
		}
		if err := carryMessages(ctx, tx, from, carry.Message); err != nil {
			return err
		}
		if err := carryTasks(ctx, tx, from, to, carry.Key); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "UPDATE message SET room = ? WHERE room = ? AND status = 0", to, from)
		return err
	})
	return j.failed("move room", err)
}

// carryEvents moves the pending events; each keeps where it was sent to.
func carryEvents(ctx context.Context, tx *sql.Tx, from, to string) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO event
		(room, event, home, sender, type, state_key, time, encryption, session, distrust, rel_type, relates_to, body, raw, status, at)
		SELECT ?, event, CASE home WHEN '' THEN room ELSE home END,
		sender, type, state_key, time, encryption, session, distrust, rel_type, relates_to, body, raw, status, at FROM event
		WHERE room = ? AND `+pending+` ORDER BY seq ON CONFLICT (room, event) DO NOTHING`, to, from)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "UPDATE event SET status = ? WHERE room = ? AND "+pending, Archived, from)
	return err
}

// carryTasks moves the tasks, each with a new key: what the new room is told has
// transaction IDs of its own. Its messages that are to be sent keep theirs.
func carryTasks(ctx context.Context, tx *sql.Tx, from, to string, key func(event string) string) error {
	tasks, err := queryAll(ctx, tx, scanTask, queryTasksToMove, from)
	if err != nil {
		return err
	}
	for _, t := range tasks {
		if _, err := tx.ExecContext(ctx, "UPDATE message SET task = ? WHERE task = ? AND status = 0", key(t.Event), t.Key); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE task SET room = ?, key = ? WHERE key = ?", to, key(t.Event), t.Key); err != nil {
			return err
		}
	}
	return nil
}

func carryMessages(ctx context.Context, tx *sql.Tx, from string, carry func(Message) Message) error {
	rows, err := queryAll(ctx, tx, scanMessage, "SELECT "+messageColumns+" FROM message WHERE room = ? AND status = 0", from)
	if err != nil {
		return err
	}
	for _, row := range rows {
		row = carry(row)
		_, err := tx.ExecContext(ctx, "UPDATE message SET content = ?, status = ?, error = ? WHERE seq = ?", string(row.Content), row.Status, row.Error, row.Seq)
		if err != nil {
			return err
		}
	}
	return nil
}
