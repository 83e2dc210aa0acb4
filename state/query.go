package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"matrix-tui/state/damage"
)

// queryer is a database or a transaction.
type queryer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// scanner is a row.
type scanner interface{ Scan(...any) error }

func scanText(row scanner) (text string, err error) {
	err = row.Scan(&text)
	return text, err
}

func scanNumber(row scanner) (n int64, err error) {
	err = row.Scan(&n)
	return n, err
}

// list returns what scan makes of the rows of a query; what says what that is for.
func list[T any](ctx context.Context, c *core, what string, scan func(scanner) (T, error), query string,
	args ...any) ([]T, error) {
	all, err := queryAll(ctx, c.db, scan, query, args...)
	return all, c.failed(what, err)
}

// queryAll reads all rows before it returns, because the only connection cannot run another query while rows are open.
func queryAll[T any](ctx context.Context, db queryer, scan func(scanner) (T, error), query string,
	args ...any) ([]T, error) {
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

// one returns what scan makes of the only row of a query, or ErrNotFound.
func one[T any](ctx context.Context, c *core, what string, scan func(scanner) (T, error), query string,
	args ...any) (T, error) {
	found, err := queryOne(ctx, c.db, scan, query, args...)
	return found, c.failed(what, err)
}

func queryOne[T any](ctx context.Context, db queryer, scan func(scanner) (T, error), query string,
	args ...any) (T, error) {
	found, err := scan(db.QueryRowContext(ctx, query, args...))
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	if err != nil {
		return *new(T), err
	}
	return found, nil
}

// value returns the only value of the first row of a query, or the zero value if there is no row.
func value[T any](ctx context.Context, c *core, what, query string, args ...any) (T, error) {
	found, err := queryValue[T](ctx, c.db, query, args...)
	return found, c.failed(what, err)
}

func queryValue[T any](ctx context.Context, db queryer, query string, args ...any) (found T, err error) {
	err = db.QueryRowContext(ctx, query, args...).Scan(&found)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return found, err
}

func run(ctx context.Context, db queryer, statement string, args ...any) error {
	_, err := db.ExecContext(ctx, statement, args...)
	return err
}

// exec makes a change; what says which.
func (c *core) exec(ctx context.Context, what, statement string, args ...any) error {
	return c.failed(what, run(ctx, c.db, statement, args...))
}

// mark changes one row, or returns ErrNotFound.
func (c *core) mark(ctx context.Context, what, statement string, args ...any) error {
	return c.failed(what, mark(ctx, c.db, statement, args...))
}

func mark(ctx context.Context, db queryer, statement string, args ...any) error {
	n, err := affect(ctx, db, statement, args...)
	if err == nil && n == 0 {
		err = ErrNotFound
	}
	return err
}

// affect returns how many rows a statement has changed.
func affect(ctx context.Context, db queryer, statement string, args ...any) (int64, error) {
	res, err := db.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// change runs do in one transaction and rolls it back if do fails.
func (c *core) change(ctx context.Context, what string, do func(*sql.Tx) error) error {
	return c.failed(what, c.inTx(ctx, do))
}

// readJSON reads the JSON of a column. If it cannot be read, the journal is damaged.
func readJSON(text string, into any) error {
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return errors.Join(damage.Err, err)
	}
	return nil
}
