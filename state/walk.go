package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
)

// Claim takes an event up: it is Running from now on, with the caller's record
// of the task. Repeated, the record is replaced. An event that is answered
// already, or waits for an answer, is ErrFinished, an unknown one ErrNotFound.
func (j *Journal) Claim(ctx context.Context, room, event string, task json.RawMessage) error {
	if task == nil {
		task = json.RawMessage("null") // a claimed row has a record: LastTask finds it by that
	}
	err := j.inTx(ctx, func(tx *sql.Tx) error {
		status, err := statusOf(ctx, tx, room, event)
		if err != nil {
			return err
		}
		if status >= Answered {
			return ErrFinished
		}
		return setStatus(ctx, tx, room, event, Running, task)
	})
	return j.failed("claim event", err)
}

// Answer stores the reply of an event and marks the event Answered, in one
// transaction. Messages whose transaction ID is known are left as they are, so
// that a repeated call sends nothing twice; for an event that is Done nothing
// happens at all. A nil task leaves the record as it was. The events that closes
// names (of the same room: what ended the task) are Done with it; an unknown one
// is ErrNotFound, and nothing is changed then.
func (j *Journal) Answer(ctx context.Context, room, event string, task json.RawMessage, out []Outbound, closes ...string) error {
	err := j.inTx(ctx, func(tx *sql.Tx) error {
		status, err := statusOf(ctx, tx, room, event)
		if err != nil || status == Done {
			return err
		}
		if err := setStatus(ctx, tx, room, event, Answered, task); err != nil {
			return err
		}
		return replyIn(ctx, tx, room, out, closes)
	})
	return j.failed("answer event", err)
}

// Finish marks an event Done. ErrNotFound for an unknown one.
func (j *Journal) Finish(ctx context.Context, room, event string) error {
	err := j.inTx(ctx, func(tx *sql.Tx) error {
		if _, err := statusOf(ctx, tx, room, event); err != nil {
			return err
		}
		return setStatus(ctx, tx, room, event, Done, nil)
	})
	return j.failed("finish event", err)
}

// MoveRoom gives what is unfinished or Waiting in a room, and what is to be sent
// there, to its successor. The old room keeps archived copies of the events, so that
// none is taken for new when it comes again.
func (j *Journal) MoveRoom(ctx context.Context, from, to string) error {
	if from == to {
		return nil
	}
	if to == "" {
		return errors.New("move room: no successor")
	}
	err := j.inTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO inbound (room, event, sender, type, time, raw, status, task, at)
			SELECT ?, event, sender, type, time, raw, status, task, at FROM inbound
			WHERE room = ? AND `+moving+` ORDER BY seq ON CONFLICT (room, event) DO NOTHING`, to, from)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE inbound SET status = ?, task = NULL WHERE room = ? AND "+moving, Archived, from)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE outbound SET room = ? WHERE room = ? AND status = 0", to, from)
		return err
	})
	return j.failed("move room", err)
}

// moving is the condition of the rows that a room's successor gets.
const moving = "(" + unfinished + " OR " + waiting + ")"

func statusOf(ctx context.Context, tx *sql.Tx, room, event string) (Status, error) {
	var status Status
	err := tx.QueryRowContext(ctx, "SELECT status FROM inbound WHERE room = ? AND event = ?", room, event).Scan(&status)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, ErrNotFound
	}
	return status, err
}

// setStatus changes the row; a nil task keeps the record that it has.
func setStatus(ctx context.Context, tx *sql.Tx, room, event string, status Status, task json.RawMessage) error {
	_, err := tx.ExecContext(ctx, "UPDATE inbound SET status = ?, task = COALESCE(?, task) WHERE room = ? AND event = ?",
		status, nullable(task), room, event)
	return err
}
