package state

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"matrix-tui/state/scrub"
)

// Schedule is the entries of all rooms.
type Schedule struct{ *core }

// The queries on entries; a test makes sure that none of them scans a table.
const (
	queryEntries   = "SELECT " + entryColumns + " FROM entry WHERE room = ? ORDER BY number"
	queryEntry     = "SELECT " + entryColumns + " FROM entry WHERE room = ? AND number = ?"
	queryDue       = "SELECT " + entryColumns + " FROM entry WHERE " + scheduled + " AND next <= ? ORDER BY next LIMIT ?"
	queryZones     = "SELECT DISTINCT room, zone FROM entry"
	queryNextEntry = "SELECT next FROM entry WHERE " + scheduled + " AND next > ? ORDER BY next LIMIT 1"
	// queryLastNumber is the number of the newest entry of a room, also if it is gone: no number is used again.
	queryLastNumber = "SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'entry ' || ?"
	setLastNumber   = "INSERT OR REPLACE INTO meta (key, value) VALUES ('entry ' || ?, ?)"
	queryTxn        = "SELECT 1 FROM message WHERE txn = ?"
	queryUnfinished = "SELECT (SELECT count(*) FROM task WHERE room = ?1 AND " + open + runOf + ")" +
		" + (SELECT count(*) FROM task WHERE room = ?1 AND " + waitingTask + runOf + ")"
	stopRuns    = "UPDATE task SET stop_by = ?3 WHERE room = ?1 AND state = 'queued' AND stop_by = '' AND " + open + runOf
	runOf       = " AND source = 'schedule' AND json_extract(details, '$.scheduled.entry') = ?2"
	entryValues = "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?"
	scheduled   = "next > 0 AND paused = ''" // condition of the partial index
)

// Add stores an entry, sends what reply says about it, which is one message at least, and marks events as Done, in one
// transaction. It returns ErrFull if the room has max entries, and ErrTwice if it has stored the entry before: then the
// first message is known.
func (j *Schedule) Add(ctx context.Context, e Entry, max int, reply func(Entry) []Message, closes ...string) error {
	return j.change(ctx, "store entry", func(tx *sql.Tx) error {
		all, err := queryAll(ctx, tx, scanEntry, queryEntries, e.Room)
		if err != nil {
			return err
		}
		last, err := queryValue[int](ctx, tx, queryLastNumber, e.Room)
		if err != nil {
			return err
		}
		e.Number = last + 1
		out := reply(e)
		if known, err := queryValue[bool](ctx, tx, queryTxn, out[0].Txn); err != nil || known {
			return cmp.Or(err, ErrTwice)
		}
		if len(all) >= max {
			return ErrFull
		}
		err = errors.Join(run(ctx, tx, setLastNumber, e.Room, e.Number),
			run(ctx, tx, "INSERT INTO entry ("+entryColumns+") VALUES ("+entryValues+")", e.columns()...))
		if err != nil {
			return err
		}
		return replyIn(ctx, tx, e.Room, out, closes)
	})
}

// In returns a room's entries in the order of their numbers.
func (j *Schedule) In(ctx context.Context, room string) ([]Entry, error) {
	return list(ctx, j.core, "read entries", scanEntry, queryEntries, room)
}

// Get returns an entry, or ErrNotFound.
func (j *Schedule) Get(ctx context.Context, room string, number int) (Entry, error) {
	return one(ctx, j.core, "read entry", scanEntry, queryEntry, room, number)
}

func setEntry(ctx context.Context, tx *sql.Tx, e Entry) error {
	return mark(ctx, tx, "UPDATE entry SET ("+entryColumns+") = ("+entryValues+") WHERE room = ? AND number = ?",
		append(e.columns(), e.Room, e.Number)...)
}

// Remove removes an entry for a user, with messages and events as Change. Its queued runs are stopped.
func (j *Schedule) Remove(ctx context.Context, e Entry, user string, out []Message, closes ...string) error {
	return j.change(ctx, "remove entry", func(tx *sql.Tx) error {
		if err := run(ctx, tx, stopRuns, e.Room, e.Key(), user); err != nil {
			return err
		}
		if err := mark(ctx, tx, "DELETE FROM entry WHERE room = ? AND number = ?", e.Room, e.Number); err != nil {
			return err
		}
		return replyIn(ctx, tx, e.Room, out, closes)
	})
}

// RemoveOf removes the entries that have something from a message. If there are any, it queues another message, of
// which the text ends with their numbers.
func (j *Schedule) RemoveOf(ctx context.Context, room, event string, out Message) (gone bool, err error) {
	err = j.change(ctx, "remove entries of a message", func(tx *sql.Tx) error {
		all, err := queryAll(ctx, tx, scanEntry, queryEntries, room)
		for _, e := range all {
			if slices.Contains(strings.Fields(e.Events), event) {
				gone = true
				out.Body += fmt.Sprintf(" #%d", e.Number)
				err = errors.Join(err, run(ctx, tx, "DELETE FROM entry WHERE room = ? AND number = ?", room, e.Number))
			}
		}
		if !gone || err != nil {
			return err
		}
		out.Body += "."
		return insertMessages(ctx, tx, []Message{out})
	})
	return gone, err
}

// Leave pauses the entries of a room that the bot has left.
func (j *Schedule) Leave(ctx context.Context, room string) error {
	return j.exec(ctx, "pause entries", "UPDATE entry SET paused = ? WHERE room = ? AND paused = ''", leftRoom, room)
}

// Due returns up to MaxBatch entries of all rooms that are due, the oldest first.
func (j *Schedule) Due(ctx context.Context, now time.Time) ([]Entry, error) {
	return list(ctx, j.core, "read entries that are due", scanEntry, queryDue, now.UnixNano(), MaxBatch)
}

// Zones returns the time zones in which the entries of all rooms were planned: entries with nothing but Room and Zone.
func (j *Schedule) Zones(ctx context.Context) ([]Entry, error) {
	return list(ctx, j.core, "read time zones of entries", func(row scanner) (e Entry, err error) {
		err = row.Scan(&e.Room, &e.Zone)
		return e, err
	}, queryZones)
}

// Next returns when the next entry of all rooms is due after a time; zero if there is none.
func (j *Schedule) Next(ctx context.Context, after time.Time) (at time.Time, err error) {
	ns, err := value[int64](ctx, j.core, "read the next entry", queryNextEntry, after.UnixNano())
	if ns != 0 {
		at = time.Unix(0, ns).UTC()
	}
	return at, err
}

// Unfinished returns how many runs of an entry are queued, running, or waiting for an answer.
func (j *Schedule) Unfinished(ctx context.Context, e Entry) (int, error) {
	return value[int](ctx, j.core, "count runs", queryUnfinished, e.Room, e.Key())
}

// Run is one run of an entry.
type Run struct {
	Event Event // stands for the message that did not request it
	Task  Task
}

// Change stores what becomes of an entry, queues runs of it and messages, and marks events as Done, in one transaction:
// e is the entry as it was read, next as it is to be; without a next time it is removed. A run whose event is known is
// not queued again. It returns ErrFinished if the entry is another one by now, and ErrNotFound if it is gone.
func (j *Schedule) Change(ctx context.Context, e, next Entry, runs []Run, out []Message, closes ...string) error {
	return j.change(ctx, "change entry", func(tx *sql.Tx) error {
		now, err := queryOne(ctx, tx, scanEntry, queryEntry, e.Room, e.Number)
		if err != nil {
			return err
		}
		if now != e {
			return ErrFinished
		}
		for _, r := range runs {
			// the room has its answer, of which a restored journal knows nothing else
			if answered, err := queryValue[bool](ctx, tx, queryTxn, r.Task.Key+"-f0"); err != nil || answered {
				if err != nil {
					return err
				}
				continue
			}
			if err := submit(ctx, tx, r.Event, r.Task, nil); err != nil {
				return err
			}
		}
		if err := replyIn(ctx, tx, e.Room, out, closes); err != nil {
			return err
		}
		if next.Next.IsZero() {
			return run(ctx, tx, "DELETE FROM entry WHERE room = ? AND number = ?", e.Room, e.Number)
		}
		return setEntry(ctx, tx, next)
	})
}

// moveEntries gives the entries of a room to its successor, with numbers after those that it has given.
func moveEntries(ctx context.Context, tx *sql.Tx, from, to string) error {
	before, err := queryValue[int](ctx, tx, queryLastNumber, to)
	last, failed := queryValue[int](ctx, tx, queryLastNumber, from)
	if err = errors.Join(err, failed); err != nil || last == 0 {
		return err
	}
	return errors.Join(run(ctx, tx, setLastNumber, to, before+last),
		run(ctx, tx, "UPDATE entry SET room = ?, number = number + ? WHERE room = ?", to, before, from))
}

// completed is the word of package agent for a run with an answer.
const completed = "completed"

// countRun records how a run of an entry has ended, and pauses the entry after MaxFailures in a row. A run that
// somebody has stopped does not count.
func countRun(ctx context.Context, tx *sql.Tx, room string, t Task) error {
	if t.Source != FromSchedule || t.StopBy != "" {
		return nil
	}
	e, err := queryOne(ctx, tx, scanEntry, queryEntry, room, t.Scheduled.Number)
	if errors.Is(err, ErrNotFound) || err == nil && e.Key() != t.Scheduled.Entry {
		return nil
	}
	if err != nil {
		return err
	}
	if e.Failures++; t.Ended == completed {
		e.Failures = 0
	}
	if e.Failures >= MaxFailures && e.Paused == "" {
		e.Paused = failedOften
	}
	return setEntry(ctx, tx, e)
}

// scrubEntries removes the entries of which a text goes as a whole, tells the room, and changes the others.
func scrubEntries(ctx context.Context, tx *sql.Tx, room string, change *scrub.Scrub, out *Scrubbed) error {
	all, err := queryAll(ctx, tx, scanEntry, queryEntries, room)
	for _, e := range all {
		was := e
		gone := false
		for _, field := range []*string{&e.Text, &e.Gate} {
			if now, hit := change.Text(*field); hit {
				*field, gone = now, gone || now == scrub.Deleted
			}
		}
		if e == was {
			continue
		}
		out.Found = true
		if gone {
			told := Message{Txn: e.Key() + "-forgotten", Room: room, Kind: KindReply, Notice: true,
				Body: fmt.Sprintf("🗓 #%d is removed, because I forget what it was to do.", e.Number)}
			err = errors.Join(run(ctx, tx, "DELETE FROM entry WHERE room = ? AND number = ?", room, e.Number),
				insertMessages(ctx, tx, []Message{told}))
		} else {
			err = setEntry(ctx, tx, e)
		}
		if err != nil {
			return err
		}
	}
	return err
}
