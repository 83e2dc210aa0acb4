package state

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Spending is what a room has used of the model on one day (UTC).
type Spending struct {
	Day                     time.Time
	Requests, Input, Output int64
	Extra                   int64 // tokens that people have allowed beyond the limit
}

// Tokens returns the sum of input and output.
func (s Spending) Tokens() int64 { return s.Input + s.Output }

const daySeconds = 24 * 60 * 60

// Spend adds to what a room has used on s.Day.
func (j *Journal) Spend(ctx context.Context, room string, s Spending) error {
	_, err := j.db.ExecContext(ctx, `INSERT INTO spending (room, day, requests, input, output, extra) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (room, day) DO UPDATE SET requests = requests + excluded.requests, input = input + excluded.input,
			output = output + excluded.output, extra = extra + excluded.extra`,
		room, s.Day.Unix()/daySeconds, s.Requests, s.Input, s.Output, s.Extra)
	return j.failed("store spending", err)
}

const querySpending = "SELECT day, requests, input, output, extra FROM spending WHERE room = ? AND day <= ? ORDER BY day DESC LIMIT ?"

func scanSpending(row scanner) (s Spending, err error) {
	var day int64
	err = row.Scan(&day, &s.Requests, &s.Input, &s.Output, &s.Extra)
	s.Day = time.Unix(day*daySeconds, 0).UTC()
	return s, err
}

// Spent returns what a room has used on the day of a time.
func (j *Journal) Spent(ctx context.Context, room string, at time.Time) (Spending, error) {
	s, err := scanSpending(j.db.QueryRowContext(ctx, querySpending, room, at.Unix()/daySeconds, 1))
	today := time.Unix(at.Unix()/daySeconds*daySeconds, 0).UTC()
	if errors.Is(err, sql.ErrNoRows) || err == nil && !s.Day.Equal(today) {
		return Spending{Day: today}, nil
	}
	return s, j.failed("read spending", err)
}

// SpentDays returns what a room has used on the newest days with any use, at most n, newest first.
func (j *Journal) SpentDays(ctx context.Context, room string, n int) ([]Spending, error) {
	days, err := queryAll(ctx, j.db, scanSpending, querySpending, room, int64(1)<<40, n)
	return days, j.failed("read spending", err)
}
