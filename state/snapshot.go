package state

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

// Snapshot copies an SQLite database at one moment to a new file, mode 0600, while others may be reading and writing
// it. It checks the copy before it returns. The folder of into must be private, because SQLite creates the file.
func Snapshot(ctx context.Context, path, into string) error {
	if err := vacuumInto(ctx, path, into); err != nil {
		return explain(fmt.Errorf("copy database %s: %w", path, err), into)
	}
	if err := os.Chmod(into, 0o600); err != nil {
		return fmt.Errorf("copy database %s: %w", path, err)
	}
	if err := CheckDatabase(ctx, into); err != nil {
		return fmt.Errorf("check the copy of %s: %w", path, err)
	}
	return nil
}

func vacuumInto(ctx context.Context, path, into string) error {
	db, err := openReadOnly(path)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", into)
	return err
}

// CheckDatabase lets SQLite check a database for damage.
func CheckDatabase(ctx context.Context, path string) error {
	db, err := openReadOnly(path)
	if err != nil {
		return fmt.Errorf("check database %s: %w", path, err)
	}
	defer db.Close()
	var said string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&said); err != nil {
		return explain(fmt.Errorf("check database %s: %w", path, err), path)
	}
	if said != "ok" {
		return fmt.Errorf("check database %s: it is damaged: %s", path, said)
	}
	return nil
}

func openReadOnly(path string) (*sql.DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	dsn := url.URL{Scheme: "file", Path: abs, RawQuery: url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(10000)"}}.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}
