// Package sqlitefile opens the SQLite files of the state directory.
//
// It does not know what is in them, and adds no sentences to errors.
package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite" // also the driver "sqlite"
)

// Create makes sure that a file exists with mode 0600: SQLite would create it readable
// for everybody. The WAL gets the same mode.
func Create(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// Open opens a database with a single connection: SQLite has one writer anyway, and our
// reads are short. Params are those of the driver, such as _pragma.
func Open(path string, params url.Values) (*sql.DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	dsn := url.URL{Scheme: "file", Path: abs, RawQuery: params.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// InTx runs do in one transaction and rolls it back if do fails or panics. If ctx has ended, the error says so:
// database/sql rolls back at once, and what do tries after that fails for reasons of its own, such as a closed
// statement.
func InTx(ctx context.Context, db *sql.DB, do func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // of nothing, after Commit
	if err = do(tx); err == nil {
		err = tx.Commit()
	}
	if ended := ctx.Err(); err != nil && ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w: %w", ended, err)
	}
	return err
}

// Code returns the primary result code of an SQLite error, 0 for other errors.
func Code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}
