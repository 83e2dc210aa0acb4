package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"matrix-tui/state/event"
)

// Status says whether an event still has to be decided. The numbers are stored.
type Status int

const (
	Archived Status = 0 // kept for deduplication and context
	Pending  Status = 1 // to be decided
	Done     Status = 4 // decided: a task was created, or it was handled
)

// MaxBatch is the maximum number of rows that one query for work returns.
const MaxBatch = 1000

// Event is an event with its row's metadata.
type Event struct {
	event.Event
	Seq       int64 // order of arrival, set by Commit
	Status    Status
	Kind      event.Kind // "" if it is not decided yet
	Addressee event.Addressee
	At        time.Time // time of arrival, set by the journal
}

// pending is the condition of the partial indexes on pending events. A query must
// contain it literally for SQLite to use the index.
const pending = "status = 1"

// Batch is what one /sync brings.
type Batch struct {
	Next   string // the sync token that covers it; "" keeps the old one
	Events []Event
	Gaps   []Gap    // what is missing before the events
	Closes []string // rooms whose older gaps end; a gap in Gaps takes their place
}

// Commit is CommitBatch for a batch without gaps.
func (j *Events) Commit(ctx context.Context, nextBatch string, events []Event) (fresh []Event, err error) {
	return j.CommitBatch(ctx, Batch{Next: nextBatch, Events: events})
}

// CommitBatch stores a batch in one transaction: after a crash all of it is there, or
// nothing. It skips known events and returns the others in order, with Seq and At. An
// event without room or ID is left out and logged.
func (j *Events) CommitBatch(ctx context.Context, b Batch) (fresh []Event, err error) {
	at := time.Now().UnixMilli()
	err = j.inTx(ctx, func(tx *sql.Tx) error {
		if b.Next != "" {
			if err := run(ctx, tx, `INSERT INTO meta (key, value) VALUES ('next_batch', ?)
				ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE value <> excluded.value`, b.Next); err != nil {
				return err
			}
		}
		if err := openGaps(ctx, tx, b.Gaps, b.Closes); err != nil { // before the events, which come after them
			return err
		}
		for _, e := range b.Events {
			if e.Room == "" || e.ID == "" {
				j.log.Warn().Str("room", e.Room).Str("type", e.Type).Msg("skipped an event without room or ID")
				continue
			}
			e.Seq = 0
			seq, isNew, err := insertEvent(ctx, tx, e, at)
			if err != nil {
				return err
			}
			if !isNew {
				continue
			}
			e.Seq, e.At = seq, time.UnixMilli(at).UTC()
			fresh = append(fresh, e)
		}
		if b.Next == "" {
			return nil
		}
		return run(ctx, tx, endRestoring)
	})
	if err != nil {
		return nil, j.failed("commit events", err)
	}
	return fresh, nil
}

// insertEvent inserts an event unless it is known. Without a Seq it becomes the newest.
func insertEvent(ctx context.Context, tx *sql.Tx, e Event, at int64) (seq int64, fresh bool, err error) {
	body, raw, err := bodyOf(e)
	if err != nil {
		return 0, false, err
	}
	r := e.Relation()
	res, err := tx.ExecContext(ctx, `INSERT INTO event
		(seq, room, event, home, sender, type, state_key, time, encryption, session, distrust, rel_type, relates_to, body, raw, status, kind, addressee, at)
		VALUES (nullif(?, 0), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (room, event) DO NOTHING`,
		e.Seq, e.Room, e.ID, e.Home, e.Sender, e.Type, e.StateKey, e.Time.UnixMilli(), e.Encryption, e.Session, e.Distrust,
		r.RelType, r.EventID, body, raw, e.Status, e.Kind, e.Addressee, at)
	if err != nil {
		return 0, false, err
	}
	if n, err := res.RowsAffected(); err != nil {
		return 0, false, err
	} else if n == 0 {
		return 0, false, restoreEvent(ctx, tx, e, body, raw)
	}
	seq, err = res.LastInsertId()
	return seq, err == nil, err
}

// restoreEvent stores the content of an event of which a restored journal only knows
// that it was decided: it is context again.
func restoreEvent(ctx context.Context, tx *sql.Tx, e Event, body, raw string) error {
	r := e.Relation()
	return run(ctx, tx, `UPDATE event SET home = ?, sender = ?, type = ?, state_key = ?, time = ?, encryption = ?, session = ?, distrust = ?,
		rel_type = ?, relates_to = ?, body = ?, raw = ? WHERE room = ? AND event = ? AND type = ?`,
		e.Home, e.Sender, e.Type, e.StateKey, e.Time.UnixMilli(), e.Encryption, e.Session, e.Distrust, r.RelType, r.EventID,
		body, raw, e.Room, e.ID, event.TypeLost)
}

// bodyOf returns the columns body and raw of an event: its decoded body, or its bytes
// while it is undecrypted.
func bodyOf(e Event) (body, raw string, err error) {
	if e.Undecrypted() {
		return "{}", string(e.Raw), nil
	}
	all, err := json.Marshal(e.Body)
	return string(all), "", err
}

// Decoded updates an event that was Undecrypted: it is decrypted now, or the reason has
// changed.
func (j *Undecrypted) Decoded(ctx context.Context, e Event) error {
	body, raw, err := bodyOf(e)
	if err != nil {
		return fmt.Errorf("store decoded event: %w", err)
	}
	r := e.Relation()
	return j.mark(ctx, "store decoded event",
		`UPDATE event SET home = ?, type = ?, state_key = ?, encryption = ?, session = ?, distrust = ?,
		rel_type = ?, relates_to = ?, body = ?, raw = ?, kind = ?, addressee = ? WHERE room = ? AND event = ?`,
		e.Home, e.Type, e.StateKey, e.Encryption, e.Session, e.Distrust, r.RelType, r.EventID, body, raw, e.Kind, e.Addressee,
		e.Room, e.ID)
}

// Finish marks an event Done. It returns ErrNotFound for an unknown one.
func (j *Events) Finish(ctx context.Context, room, event string) error {
	return j.mark(ctx, "finish event", "UPDATE event SET status = 4 WHERE room = ? AND event = ?", room, event)
}

// Archive marks an event as one that asked for nothing.
func (j *Events) Archive(ctx context.Context, room, event string) error {
	return j.mark(ctx, "archive event", "UPDATE event SET status = 0 WHERE room = ? AND event = ?", room, event)
}

// CountAttempt counts one more attempt to handle an event that ended in a panic, and
// returns their number. It returns ErrNotFound for an unknown event.
func (j *Events) CountAttempt(ctx context.Context, room, event string) (int64, error) {
	return one(ctx, j.core, "count attempt", scanNumber,
		"UPDATE event SET attempts = attempts + 1 WHERE room = ? AND event = ? RETURNING attempts", room, event)
}

// FinishUpTo marks the room's pending events before seq Done.
func (j *Events) FinishUpTo(ctx context.Context, room string, seq int64) error {
	return j.exec(ctx, "finish events", queryFinishEvents, room, seq)
}

// setStatus sets the status of an event, or returns ErrNotFound.
func setStatus(ctx context.Context, tx *sql.Tx, room, event string, status Status) error {
	return mark(ctx, tx, "UPDATE event SET status = ? WHERE room = ? AND event = ?", status, room, event)
}
