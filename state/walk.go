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
