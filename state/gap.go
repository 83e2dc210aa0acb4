package state

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"time"
)

// MaxGap is the maximum number of events that fill a gap.
const MaxGap = 10_000

// Encrypted says which events of a gap must be encrypted. The words are stored.
type Encrypted string

const (
	EncryptedNever Encrypted = "never"
	EncryptedLater Encrypted = "later" // those after the event that enabled encryption
	EncryptedAll   Encrypted = "all"
)

// Gap is a missing part of a room's timeline. It is filled backwards, page by page.
// Until it is closed, Pending leaves out its events and those after it, and Messages.Next
// the messages that it may show to be sent.
type Gap struct {
	Low       int64 // its events have at least this Seq, and less than Low+MaxGap
	Next      int64 // Seq of its next event
	Hides     int64 // events of the room from this Seq on wait
	Room      string
	Token     string // of the next page
	Pages     int    // that are stored
	Encrypted Encrypted
	Since     time.Time // older events are context only; zero if none are
}

const (
	gapColumns = "low, next, hides, room, token, pages, encrypted, since"

	queryGap      = "SELECT " + gapColumns + " FROM gap WHERE room = ? ORDER BY low LIMIT 1"
	queryGapRooms = "SELECT DISTINCT room FROM gap ORDER BY room"
	queryUnclear  = "SELECT ifnull(max(unsent), 0) FROM gap WHERE room = ?"
	queryHidden   = "SELECT ifnull(min(hides), 9223372036854775807) FROM gap WHERE room = ?"
)

// openGaps reserves the next Seqs for the events of new gaps. closes names rooms whose
// older gaps end; a new one there hides what they did.
func openGaps(ctx context.Context, tx *sql.Tx, gaps []Gap, closes []string) error {
	hidden := map[string]int64{}
	for _, room := range closes {
		from, err := queryValue[int64](ctx, tx, queryHidden, room)
		if err != nil {
			return err
		}
		hidden[room] = from
		if err := run(ctx, tx, "DELETE FROM gap WHERE room = ?", room); err != nil {
			return err
		}
	}
	for _, g := range gaps {
		low, err := reserve(ctx, tx)
		if err != nil {
			return err
		}
		hides := low
		if from, ok := hidden[g.Room]; ok {
			hides = min(from, low)
		}
		if err := run(ctx, tx, "INSERT INTO gap ("+gapColumns+
			", unsent) VALUES (?, ?, ?, ?, ?, 0, ?, ?, (SELECT ifnull(max(seq), 0) FROM message WHERE room = ? AND status = 0))",
			low, low+MaxGap-1, hides, g.Room, g.Token, g.Encrypted, millis(g.Since), g.Room); err != nil {
			return err
		}
	}
	return nil
}

// reserve sets aside the next MaxGap values of event.seq and returns the first one.
func reserve(ctx context.Context, tx *sql.Tx) (low int64, err error) {
	err = tx.QueryRowContext(ctx, "UPDATE sqlite_sequence SET seq = seq + ? WHERE name = 'event' RETURNING seq - ? + 1",
		MaxGap, MaxGap).Scan(&low)
	if errors.Is(err, sql.ErrNoRows) { // there was never an event
		_, err = tx.ExecContext(ctx, "INSERT INTO sqlite_sequence (name, seq) VALUES ('event', ?)", MaxGap)
		low = 1
	}
	return low, err
}

// Get returns the room's oldest gap, or ErrNotFound.
func (j *Gaps) Get(ctx context.Context, room string) (Gap, error) {
	return one(ctx, j.core, "look up gap", scanGap, queryGap, room)
}

func scanGap(row scanner) (g Gap, err error) {
	var since int64
	err = row.Scan(&g.Low, &g.Next, &g.Hides, &g.Room, &g.Token, &g.Pages, &g.Encrypted, &since)
	if since != 0 {
		g.Since = time.UnixMilli(since).UTC()
	}
	return g, err
}

// Rooms returns the rooms that have gaps.
func (j *Gaps) Rooms(ctx context.Context) ([]string, error) {
	return list(ctx, j.core, "look up rooms with gaps", scanText, queryGapRooms)
}

// Hidden returns the Seq from which on the room's events wait for a gap, or
// math.MaxInt64.
func (j *Gaps) Hidden(ctx context.Context, room string) (int64, error) {
	return value[int64](ctx, j.core, "look up gaps", queryHidden, room)
}

// Exists reports whether events of the room wait for a gap.
func (j *Gaps) Exists(ctx context.Context, room string) (bool, error) {
	from, err := j.Hidden(ctx, room)
	return from != math.MaxInt64, err
}

// CommitPage stores a page of a gap, newest event first, in one transaction. g is the
// gap as Gap returned it, with the Token of the page after this one and the new value of
// Encrypted. With last, or when the gap has all the events it may have, it is closed.
// Known events are skipped; the others are returned, newest first. out is queued with
// the page. It returns ErrNotFound if the gap was closed meanwhile.
func (j *Gaps) CommitPage(ctx context.Context, g Gap, page []Event, last bool,
	out ...Message) (fresh []Event, closed bool, err error) {
	at := time.Now().UnixMilli()
	err = j.inTx(ctx, func(tx *sql.Tx) error {
		next, err := queryOne(ctx, tx, scanNumber, "SELECT next FROM gap WHERE low = ?", g.Low)
		if err != nil {
			return err
		}
		for _, e := range page {
			if next < g.Low {
				last = true
				break
			}
			e.Seq, e.At = next, time.UnixMilli(at).UTC()
			_, isNew, err := insertEvent(ctx, tx, e, at)
			if err != nil {
				return err
			}
			if isNew {
				fresh = append(fresh, e)
				next--
			}
		}
		query, args := "UPDATE gap SET next = ?, token = ?, encrypted = ?, pages = pages + 1 WHERE low = ?",
			[]any{next, g.Token, g.Encrypted, g.Low}
		if last {
			query, args = "DELETE FROM gap WHERE low = ?", []any{g.Low}
		}
		if err := run(ctx, tx, query, args...); err != nil {
			return err
		}
		return insertMessages(ctx, tx, out)
	})
	if err != nil {
		return nil, false, j.failed("commit page of a gap", err)
	}
	return fresh, last, nil
}

// millis is a time in ms since 1970, 0 for the zero time.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
