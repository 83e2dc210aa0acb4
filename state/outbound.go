package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"
)

// OutStatus is where an outgoing message is. The numbers are on disk.
type OutStatus int

const (
	Unsent  OutStatus = 0 // to be sent, or sent without an answer: send it (again)
	Sent    OutStatus = 1 // the homeserver has it
	Refused OutStatus = 2 // the homeserver will never take it
)

// Outbound is a message on its way to the homeserver.
type Outbound struct {
	Txn     string // transaction ID: a resend with the same one is no second message
	Room    string
	Type    string          // Matrix event type
	Content json.RawMessage // as it is to be sent
	Task    string          // inbound event that it answers, or ""
	Event   string          // the event that it became, once Sent
	Seq     int64           // messages of a room are sent in this order
	Status  OutStatus
	Error   string // why it was Refused
}

// What is asked of outbound rows; a test holds that none of it scans the table.
const (
	outboundColumns = "txn, room, type, content, task, event, seq, status, error"

	queryOutbound    = "SELECT " + outboundColumns + " FROM outbound WHERE txn = ?"
	queryUnsent      = "SELECT " + outboundColumns + " FROM outbound WHERE room = ? AND status = 0 ORDER BY seq LIMIT ?"
	queryOutboundOf  = "SELECT " + outboundColumns + " FROM outbound WHERE room = ? AND event = ? AND event <> ''"
	queryUnsentRooms = "SELECT DISTINCT room FROM outbound WHERE status = 0 ORDER BY room"
)

// Queue stores messages to be sent, in one transaction. One whose transaction
// ID is known is left as it is.
func (j *Journal) Queue(ctx context.Context, out ...Outbound) error {
	if len(out) == 0 {
		return nil
	}
	err := j.inTx(ctx, func(tx *sql.Tx) error { return insertOutbound(ctx, tx, out) })
	return j.failed("queue messages", err)
}

func insertOutbound(ctx context.Context, tx *sql.Tx, out []Outbound) error {
	at := time.Now().UnixMilli()
	for _, o := range out {
		if o.Txn == "" || o.Room == "" {
			return errors.New("message without transaction ID or room")
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO outbound (txn, room, type, content, task, event, status, error, at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (txn) DO NOTHING`,
			o.Txn, o.Room, o.Type, string(o.Content), o.Task, o.Event, o.Status, o.Error, at)
		if err != nil {
			return err
		}
	}
	return nil
}

// Unsent gives the messages of a room that are to be sent, in order, at most
// MaxBatch of them.
func (j *Journal) Unsent(ctx context.Context, room string) ([]Outbound, error) {
	rows, err := queryAll(ctx, j.db, scanOutbound, queryUnsent, room, MaxBatch)
	return rows, j.failed("look up unsent messages", err)
}

// UnsentRooms are the rooms in which there is something to be sent.
func (j *Journal) UnsentRooms(ctx context.Context) ([]string, error) {
	rooms, err := queryAll(ctx, j.db, scanText, queryUnsentRooms)
	return rooms, j.failed("look up rooms with unsent messages", err)
}

// Outbound gives one message, or ErrNotFound.
func (j *Journal) Outbound(ctx context.Context, txn string) (Outbound, error) {
	out, err := scanOutbound(j.db.QueryRowContext(ctx, queryOutbound, txn))
	return out, j.failed("look up message", err)
}

// OutboundOf is the message that became an event of the room, or ErrNotFound:
// the event is not ours then.
func (j *Journal) OutboundOf(ctx context.Context, room, event string) (Outbound, error) {
	out, err := scanOutbound(j.db.QueryRowContext(ctx, queryOutboundOf, room, event))
	return out, j.failed("look up message of event", err)
}

// MarkSent remembers which event a message became. ErrNotFound for an unknown
// transaction ID.
func (j *Journal) MarkSent(ctx context.Context, txn, event string) error {
	return j.mark(ctx, "mark message sent", "UPDATE outbound SET status = 1, event = ?2, error = '' WHERE txn = ?1", txn, event)
}

// MarkRefused remembers that the homeserver will never take a message, and why.
// One that was sent stays sent.
func (j *Journal) MarkRefused(ctx context.Context, txn, why string) error {
	return j.mark(ctx, "mark message refused",
		"UPDATE outbound SET status = iif(status = 1, 1, 2), error = iif(status = 1, error, ?2) WHERE txn = ?1", txn, clip(why, 4096))
}

func (j *Journal) mark(ctx context.Context, what, statement, txn, value string) error {
	res, err := j.db.ExecContext(ctx, statement, txn, value)
	if err != nil {
		return j.failed(what, err)
	}
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		err = ErrNotFound
	}
	return j.failed(what, err)
}

func scanOutbound(row scanner) (Outbound, error) {
	var o Outbound
	var content string
	err := row.Scan(&o.Txn, &o.Room, &o.Type, &content, &o.Task, &o.Event, &o.Seq, &o.Status, &o.Error)
	if errors.Is(err, sql.ErrNoRows) {
		return Outbound{}, ErrNotFound
	}
	if err != nil {
		return Outbound{}, err
	}
	o.Content = json.RawMessage(content)
	return o, nil
}
