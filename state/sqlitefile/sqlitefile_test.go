package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"
)

// withTable returns a database with a table x, which has one column.
func withTable(t *testing.T) *sql.DB {
	t.Helper()
	db, err := Open(filepath.Join(t.TempDir(), "x.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.Exec("CREATE TABLE x (a)"); err != nil {
		t.Fatal(err)
	}
	return db
}

// A transaction whose context ends says so, whatever fails because of it.
func TestInTxSaysThatContextEnded(t *testing.T) {
	db := withTable(t)
	odd := errors.New("it failed for another reason")
	for name, do := range map[string]func(tx *sql.Tx) error{
		"a step fails":  func(*sql.Tx) error { return odd },
		"no step fails": func(tx *sql.Tx) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			err := InTx(ctx, db, func(tx *sql.Tx) error {
				if _, err := tx.Exec("INSERT INTO x VALUES (1)"); err != nil {
					return err
				}
				cancel()
				for { // database/sql rolls back beside this
					if _, err := tx.Exec("SELECT 1"); errors.Is(err, sql.ErrTxDone) {
						return do(tx)
					}
				}
			})
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			var n int
			if err := db.QueryRow("SELECT count(*) FROM x").Scan(&n); err != nil || n != 0 {
				t.Errorf("%d rows, %v", n, err)
			}
		})
	}
	if err := InTx(t.Context(), db, func(*sql.Tx) error { return odd }); !errors.Is(err, odd) || errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A panic in a transaction leaves nothing behind, neither rows nor the connection, which all others wait for.
func TestInTxPanics(t *testing.T) {
	db := withTable(t)
	func() {
		defer func() { recover() }()
		_ = InTx(t.Context(), db, func(tx *sql.Tx) error {
			if _, err := tx.Exec("INSERT INTO x VALUES (1)"); err != nil {
				t.Error(err)
			}
			panic("x")
		})
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var n int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM x").Scan(&n); err != nil || n != 0 {
		t.Errorf("%d rows, %v", n, err)
	}
}
