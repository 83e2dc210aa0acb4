package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
)

// Status is how far the walk of an inbound event is. The numbers are on disk.
type Status int

const (
	Archived Status = 0 // kept for dedupe and context, nothing to do
	Pending  Status = 1 // to be worked on
	Running  Status = 2 // claimed: its run has been, or is about to be, started
	Answered Status = 3 // its reply is in the outbound rows
	Done     Status = 4 // reply sent and remembered
	Waiting  Status = 5 // its question is out; nobody works on it until Resume
)

// MaxBatch is the most rows that one query for work gives.
const MaxBatch = 1000

// Inbound is an event that came from the homeserver.
type Inbound struct {
	Seq    int64 // order of arrival, given by Commit
	Room   string
	Event  string
	Sender string
	Type   string          // Matrix event type
	Time   time.Time       // of the event (origin_server_ts), in ms
	Raw    json.RawMessage // the event as it came
	Status Status
	Task   json.RawMessage // the caller's own record of the walk, nil before Claim
}

// What is asked of inbound rows; a test holds that none of it scans the table.
const (
	inboundColumns = "seq, room, event, sender, type, time, raw, status, task"

	queryEvent           = "SELECT " + inboundColumns + " FROM inbound WHERE room = ? AND event = ?"
	queryLastEvent       = "SELECT event FROM inbound WHERE room = ? ORDER BY seq DESC LIMIT 1"
	queryLastTask        = "SELECT " + inboundColumns + " FROM inbound WHERE room = ? AND task IS NOT NULL ORDER BY seq DESC LIMIT 1"
	queryBefore          = "SELECT " + inboundColumns + " FROM inbound WHERE room = ? AND seq < ? AND type IN ('m.room.message', 'm.room.encrypted') ORDER BY seq DESC LIMIT ?"
	queryUnfinished      = "SELECT " + inboundColumns + " FROM inbound WHERE room = ? AND " + unfinished + " ORDER BY seq LIMIT ?"
	queryUnfinishedRooms = "SELECT DISTINCT room FROM inbound WHERE " + unfinished + " ORDER BY room"
)

// NextBatch is the sync token of the last Commit, "" before the first.
func (j *Journal) NextBatch(ctx context.Context) (string, error) {
	var token string
	err := j.db.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'next_batch'").Scan(&token)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return token, j.failed("read sync token", err)
}

// Commit stores the events and the sync token that covers them in one
// transaction: both are there after a crash, or neither. Events that are known
// are skipped; fresh are the others, in order, with Seq. The token "" leaves
// the old one (events that fill a gap). An event without room or ID cannot be
// told from others and is left out, with a warning in the log.
func (j *Journal) Commit(ctx context.Context, nextBatch string, events []Inbound) (fresh []Inbound, err error) {
	at := time.Now().UnixMilli()
	err = j.inTx(ctx, func(tx *sql.Tx) error {
		if nextBatch != "" {
			if _, err := tx.ExecContext(ctx, `INSERT INTO meta (key, value) VALUES ('next_batch', ?)
				ON CONFLICT (key) DO UPDATE SET value = excluded.value`, nextBatch); err != nil {
				return err
			}
		}
		if len(events) == 0 {
			return nil
		}
		insert, err := tx.PrepareContext(ctx, `INSERT INTO inbound (room, event, sender, type, time, raw, status, task, at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (room, event) DO NOTHING`)
		if err != nil {
			return err
		}
		defer insert.Close()
		for _, e := range events {
			if e.Room == "" || e.Event == "" {
				j.log.Warn().Str("room", e.Room).Str("type", e.Type).Msg("event without room or ID left out")
				continue
			}
			res, err := insert.ExecContext(ctx, e.Room, e.Event, e.Sender, e.Type, e.Time.UnixMilli(), string(e.Raw), e.Status, nullable(e.Task), at)
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err != nil || n == 0 {
				if err != nil {
					return err
				}
				continue
			}
			if e.Seq, err = res.LastInsertId(); err != nil {
				return err
			}
			fresh = append(fresh, e)
		}
		return nil
	})
	if err != nil {
		return nil, j.failed("commit events", err)
	}
	return fresh, nil
}

// Known says which of the events of a room are in the journal.
func (j *Journal) Known(ctx context.Context, room string, events []string) (map[string]bool, error) {
	known := make(map[string]bool, len(events))
	for chunk := range slices.Chunk(events, 500) {
		args := make([]any, 0, len(chunk)+1)
		args = append(args, room)
		for _, event := range chunk {
			args = append(args, event)
		}
		marks := strings.Repeat("?, ", len(chunk)-1) + "?"
		found, err := queryAll(ctx, j.db, scanText,
			"SELECT event FROM inbound WHERE room = ? AND event IN ("+marks+")", args...)
		if err != nil {
			return nil, j.failed("look up events", err)
		}
		for _, event := range found {
			known[event] = true
		}
	}
	return known, nil
}

// LastEvent is the event of the room that came last, "" when none is known.
func (j *Journal) LastEvent(ctx context.Context, room string) (string, error) {
	var event string
	err := j.db.QueryRowContext(ctx, queryLastEvent, room).Scan(&event)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return event, j.failed("look up last event", err)
}

// Event gives one event, or ErrNotFound.
func (j *Journal) Event(ctx context.Context, room, event string) (Inbound, error) {
	in, err := scanInbound(j.db.QueryRowContext(ctx, queryEvent, room, event))
	return in, j.failed("look up event", err)
}

// LastTask is the newest event of the room that was ever claimed, or
// ErrNotFound.
func (j *Journal) LastTask(ctx context.Context, room string) (Inbound, error) {
	in, err := scanInbound(j.db.QueryRowContext(ctx, queryLastTask, room))
	return in, j.failed("look up last task", err)
}

// Before gives the newest messages of a room that came before the row seq,
// oldest first, at most n of them.
func (j *Journal) Before(ctx context.Context, room string, seq int64, n int) ([]Inbound, error) {
	rows, err := queryAll(ctx, j.db, scanInbound, queryBefore, room, seq, n)
	slices.Reverse(rows)
	return rows, j.failed("look up earlier messages", err)
}

// Unfinished gives what is to be done in a room, in order of arrival: Pending,
// Running and Answered rows, at most MaxBatch of them.
func (j *Journal) Unfinished(ctx context.Context, room string) ([]Inbound, error) {
	rows, err := queryAll(ctx, j.db, scanInbound, queryUnfinished, room, MaxBatch)
	return rows, j.failed("look up unfinished events", err)
}

// UnfinishedRooms are the rooms in which there is something to be done.
func (j *Journal) UnfinishedRooms(ctx context.Context) ([]string, error) {
	rooms, err := queryAll(ctx, j.db, scanText, queryUnfinishedRooms)
	return rooms, j.failed("look up rooms with unfinished events", err)
}

type scanner interface{ Scan(...any) error }

func scanText(row scanner) (text string, err error) {
	err = row.Scan(&text)
	return text, err
}

func scanInbound(row scanner) (Inbound, error) {
	var in Inbound
	var ms int64
	var raw string
	var task sql.NullString
	err := row.Scan(&in.Seq, &in.Room, &in.Event, &in.Sender, &in.Type, &ms, &raw, &in.Status, &task)
	if errors.Is(err, sql.ErrNoRows) {
		return Inbound{}, ErrNotFound
	}
	if err != nil {
		return Inbound{}, err
	}
	in.Time = time.UnixMilli(ms).UTC()
	if raw != "" {
		in.Raw = json.RawMessage(raw)
	}
	if task.Valid {
		in.Task = json.RawMessage(task.String)
	}
	return in, nil
}

// queryAll reads all rows before it returns: with one connection, a query must
// not be open while the next is asked.
func queryAll[T any](ctx context.Context, db querier, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// querier is the database, or a transaction of it.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func nullable(raw json.RawMessage) sql.NullString {
	return sql.NullString{String: string(raw), Valid: raw != nil}
}
