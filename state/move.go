package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
)

// Carrier changes what moves to a room's successor, so that it can stand there.
type Carrier struct {
	Event   func(raw json.RawMessage) json.RawMessage // an inbound event
	Message func(Outbound) Outbound                   // its Content, Status and Error are kept
}

// MoveRoom gives what is unfinished or Waiting in a room, and what is to be sent
// there, to its successor, as the carrier has it. The old room keeps archived
// copies of the events, so that none is taken for new when it comes again.
func (j *Journal) MoveRoom(ctx context.Context, from, to string, carry Carrier) error {
	if from == to {
		return nil
	}
	if to == "" {
		return errors.New("move room: no successor")
	}
	err := j.inTx(ctx, func(tx *sql.Tx) error {
		if err := carryEvents(ctx, tx, from, carry.Event); err != nil {
			return err
		}
		if err := carryMessages(ctx, tx, from, carry.Message); err != nil {
			return err
		}
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

func carryEvents(ctx context.Context, tx *sql.Tx, from string, carry func(json.RawMessage) json.RawMessage) error {
	rows, err := queryAll(ctx, tx, scanInbound, "SELECT "+inboundColumns+" FROM inbound WHERE room = ? AND "+moving, from)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if _, err := tx.ExecContext(ctx, "UPDATE inbound SET raw = ? WHERE seq = ?", string(carry(row.Raw)), row.Seq); err != nil {
			return err
		}
	}
	return nil
}

func carryMessages(ctx context.Context, tx *sql.Tx, from string, carry func(Outbound) Outbound) error {
	rows, err := queryAll(ctx, tx, scanOutbound, "SELECT "+outboundColumns+" FROM outbound WHERE room = ? AND status = 0", from)
	if err != nil {
		return err
	}
	for _, row := range rows {
		row = carry(row)
		_, err := tx.ExecContext(ctx, "UPDATE outbound SET content = ?, status = ?, error = ? WHERE seq = ?", string(row.Content), row.Status, row.Error, row.Seq)
		if err != nil {
			return err
		}
	}
	return nil
}
