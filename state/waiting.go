package state

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
)

// What is asked of waiting rows: a page of them, behind the last one of the page
// before. Of all rooms they come by room, as the index has them.
const (
	queryWaiting   = "SELECT " + inboundColumns + " FROM inbound WHERE " + waiting + " AND (room, seq) > (?, ?) ORDER BY room, seq LIMIT ?"
	queryWaitingIn = "SELECT " + inboundColumns + " FROM inbound WHERE room = ? AND " + waiting + " AND seq > ? ORDER BY seq LIMIT ?"
)

// Wait stores the question of an event and marks the event Waiting, in one
// transaction. Repeated, the record is replaced, and messages whose transaction
// ID is known are left as they are. A nil task leaves the record as it was. An
// event that is answered is ErrFinished, an unknown one ErrNotFound.
func (j *Journal) Wait(ctx context.Context, room, event string, task json.RawMessage, out []Outbound) error {
	err := j.inTx(ctx, func(tx *sql.Tx) error {
		status, err := statusOf(ctx, tx, room, event)
		if err != nil {
			return err
		}
		if status == Answered || status == Done {
			return ErrFinished
		}
		if err := setStatus(ctx, tx, room, event, Waiting, task); err != nil {
			return err
		}
		return insertOutbound(ctx, tx, out)
	})
	return j.failed("let event wait", err)
}

// Resume takes up an event that waits: it is Running from now on, with a new
// record, the events that closes names (of the same room: the answer) are Done,
// and the messages are queued, all in one transaction. A nil task leaves the
// record as it was. An event that does not wait is ErrFinished, one that is
// unknown, also in closes, ErrNotFound; nothing is changed then.
func (j *Journal) Resume(ctx context.Context, room, event string, task json.RawMessage, out []Outbound, closes ...string) error {
	err := j.inTx(ctx, func(tx *sql.Tx) error {
		status, err := statusOf(ctx, tx, room, event)
		if err != nil {
			return err
		}
		if status != Waiting {
			return ErrFinished
		}
		if err := setStatus(ctx, tx, room, event, Running, task); err != nil {
			return err
		}
		return replyIn(ctx, tx, room, out, closes)
	})
	return j.failed("resume event", err)
}

// Reply queues messages and marks the events that closes names Done, in one
// transaction: what a command is told, and the command. Messages whose
// transaction ID is known are left as they are. ErrNotFound for an unknown
// event; nothing is changed then.
func (j *Journal) Reply(ctx context.Context, room string, out []Outbound, closes ...string) error {
	err := j.inTx(ctx, func(tx *sql.Tx) error { return replyIn(ctx, tx, room, out, closes) })
	return j.failed("reply", err)
}

// Note replaces the record of an event that is Pending or Running; its status
// stays. Any other event is ErrFinished, an unknown one ErrNotFound.
func (j *Journal) Note(ctx context.Context, room, event string, task json.RawMessage) error {
	err := j.inTx(ctx, func(tx *sql.Tx) error {
		status, err := statusOf(ctx, tx, room, event)
		if err != nil {
			return err
		}
		if status != Pending && status != Running {
			return ErrFinished
		}
		return setStatus(ctx, tx, room, event, status, task)
	})
	return j.failed("note record of event", err)
}

// Waiting gives all events that wait for an answer, in order of arrival. It
// reads them a page at a time: others write in between.
func (j *Journal) Waiting(ctx context.Context) ([]Inbound, error) {
	all, err := j.pages(ctx, func(last Inbound) ([]Inbound, error) {
		return queryAll(ctx, j.db, scanInbound, queryWaiting, last.Room, last.Seq, MaxBatch)
	})
	slices.SortFunc(all, func(a, b Inbound) int { return cmp.Compare(a.Seq, b.Seq) })
	return all, err
}

// WaitingIn gives those of one room.
func (j *Journal) WaitingIn(ctx context.Context, room string) ([]Inbound, error) {
	return j.pages(ctx, func(last Inbound) ([]Inbound, error) {
		return queryAll(ctx, j.db, scanInbound, queryWaitingIn, room, last.Seq, MaxBatch)
	})
}

// pages asks for the rows behind the last one until a page is not full.
func (j *Journal) pages(ctx context.Context, behind func(last Inbound) ([]Inbound, error)) ([]Inbound, error) {
	var all []Inbound
	var last Inbound
	for {
		page, err := behind(last)
		if err != nil {
			return nil, j.failed("look up waiting events", err)
		}
		if all = append(all, page...); len(page) < MaxBatch {
			return all, nil
		}
		last = page[len(page)-1]
	}
}

// replyIn queues messages and ends events of a room.
func replyIn(ctx context.Context, tx *sql.Tx, room string, out []Outbound, closes []string) error {
	for _, event := range closes {
		if _, err := statusOf(ctx, tx, room, event); err != nil {
			return fmt.Errorf("close %s: %w", event, err)
		}
		if err := setStatus(ctx, tx, room, event, Done, nil); err != nil {
			return fmt.Errorf("close %s: %w", event, err)
		}
	}
	return insertOutbound(ctx, tx, out)
}
