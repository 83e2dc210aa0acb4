package state

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Spending is what a room has used of the model on one day (UTC).
type Spending struct {
	Day                             time.Time
	Requests, Input, Cached, Output int64 // tokens; Cached is a part of Input
	Extra                           int64 // tokens that people have allowed beyond the limit

	Runs        int64 // of the agent
	Sessions    int64 // that these runs started
	Compactions int64 // sessions that were replaced because they were long
}

// Tokens returns the sum of input and output.
func (s Spending) Tokens() int64 { return s.Input + s.Output }

const daySeconds = 24 * 60 * 60

// longAgo is the day of the row with what a room used on days that the journal no longer has.
const longAgo = 0

const (
	spendingSums = "sum(requests), sum(input), sum(cached), sum(output), sum(extra), sum(runs), sum(sessions), " +
		"sum(compactions)"

	addSpending = ` ON CONFLICT (room, day) DO UPDATE SET requests = requests + excluded.requests, input = input + excluded.input,
		cached = cached + excluded.cached, output = output + excluded.output, extra = extra + excluded.extra, runs = runs + excluded.runs,
		sessions = sessions + excluded.sessions, compactions = compactions + excluded.compactions`

	spendingColumns = "day, requests, input, cached, output, extra, runs, sessions, compactions"

	querySpending = "SELECT " + spendingColumns +
		" FROM spending WHERE room = ? AND day > 0 AND day <= ? ORDER BY day DESC LIMIT ?"
	queryTotal = "SELECT max(day), " + spendingSums + " FROM spending WHERE room = ? HAVING count(*) > 0"
)

// Add adds to what a room has used on s.Day.
func (j *Budget) Add(ctx context.Context, room string, s Spending) error {
	return j.failed("store spending", spend(ctx, j.db, room, s))
}

func spend(ctx context.Context, db queryer, room string, s Spending) error {
	if s == (Spending{Day: s.Day}) {
		return nil
	}
	return run(ctx, db, "INSERT INTO spending (room, "+spendingColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"+
		addSpending,
		room, s.Day.Unix()/daySeconds, s.Requests, s.Input, s.Cached, s.Output, s.Extra, s.Runs, s.Sessions, s.Compactions)
}

// stepCost returns what a task's step from one row to the next counts for. It depends on the rows alone, and is stored
// with the new one, so a step that is repeated after a crash counts once.
func stepCost(from, to Task, now time.Time) Spending {
	s := Spending{Day: now, Extra: max(to.Allowed-from.Allowed, 0)}
	if to.Container != "" && (from.Container == "" || from.Run != to.Run) {
		s.Runs = 1
		if !to.Resume {
			s.Sessions = 1
		}
	}
	if to.Compacted && !from.Compacted {
		s.Compactions = 1
	}
	return s
}

func scanSpending(row scanner) (s Spending, err error) {
	var day int64
	err = row.Scan(&day, &s.Requests, &s.Input, &s.Cached, &s.Output, &s.Extra, &s.Runs, &s.Sessions, &s.Compactions)
	s.Day = time.Unix(day*daySeconds, 0).UTC()
	return s, err
}

// On returns what a room has used on the day of a time.
func (j *Budget) On(ctx context.Context, room string, at time.Time) (Spending, error) {
	s, err := one(ctx, j.core, "read spending", scanSpending, querySpending, room, at.Unix()/daySeconds, 1)
	today := time.Unix(at.Unix()/daySeconds*daySeconds, 0).UTC()
	if errors.Is(err, ErrNotFound) || err == nil && !s.Day.Equal(today) {
		return Spending{Day: today}, nil
	}
	return s, err
}

// ByAll returns the tokens that all rooms together have used on the day of a time.
func (j *Budget) ByAll(ctx context.Context, at time.Time) (int64, error) {
	return value[int64](
		ctx,
		j.core,
		"read spending",
		"SELECT coalesce(sum(input + output), 0) FROM spending WHERE day = ?",
		at.Unix()/daySeconds,
	)
}

// Days returns what a room has used on the newest days with any use, at most n, newest first.
func (j *Budget) Days(ctx context.Context, room string, n int) ([]Spending, error) {
	return list(ctx, j.core, "read spending", scanSpending, querySpending, room, int64(1)<<40, n)
}

// Total returns what a room has used so far, also on days that were purged. Day is the newest one.
func (j *Budget) Total(ctx context.Context, room string) (Spending, error) {
	s, err := one(ctx, j.core, "read spending", scanSpending, queryTotal, room)
	if errors.Is(err, ErrNotFound) {
		return Spending{}, nil
	}
	return s, err
}

// fold adds what rooms used on the days before a time to one row for each room, and returns the number of days.
func (j *Budget) fold(ctx context.Context, until time.Time) (n int64, err error) {
	day := until.Unix() / daySeconds
	err = j.inTx(ctx, func(tx *sql.Tx) error {
		err := run(ctx, tx, "INSERT INTO spending (room, "+spendingColumns+") SELECT room, ?, "+spendingSums+
			" FROM spending WHERE day > ? AND day < ? GROUP BY room"+addSpending, longAgo, longAgo, day)
		if err != nil {
			return err
		}
		n, err = affect(ctx, tx, "DELETE FROM spending WHERE day > ? AND day < ?", longAgo, day)
		return err
	})
	return n, err
}

// moveSpending adds what a room has used to what its successor has.
func moveSpending(ctx context.Context, tx *sql.Tx, from, to string) error {
	err := run(ctx, tx, "INSERT INTO spending (room, "+spendingColumns+") SELECT ?, "+spendingColumns+
		" FROM spending WHERE room = ?"+addSpending, to, from)
	if err != nil {
		return err
	}
	return run(ctx, tx, "DELETE FROM spending WHERE room = ?", from)
}
