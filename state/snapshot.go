package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"matrix-tui/state/damage"
)

const (
	// SnapshotEvery is the least time between two snapshots of the journal.
	SnapshotEvery = time.Hour
	// snapshotShare bounds what snapshots cost: the time between two is at least this many times what the last one took.
	snapshotShare = 100
	// closingSize is up to which size a journal gets a snapshot when it is closed.
	closingSize = 64 << 20
)

// snapshots returns where the snapshots of the journal are, the newest first.
func (j *Journal) snapshots() []string {
	return []string{j.path + ".snapshot", j.path + ".snapshot-old"}
}

// TakeSnapshot copies the journal to its newest snapshot, and keeps the one before. It does nothing if the newest one is
// too young, or if nothing was written since. It returns when to call it again. Others can write meanwhile.
func (j *Journal) TakeSnapshot(ctx context.Context) (next time.Duration, err error) {
	if info, err := os.Stat(j.snapshots()[0]); err == nil {
		if age := time.Since(info.ModTime()); age >= 0 && age < SnapshotEvery {
			return SnapshotEvery - age, nil
		}
	}
	begun := time.Now()
	err = j.takeSnapshot(ctx)
	return max(SnapshotEvery, snapshotShare*time.Since(begun)), j.failed("take a snapshot", err)
}

func (j *Journal) takeSnapshot(ctx context.Context) error {
	var changes int64
	if err := j.db.QueryRowContext(ctx, "SELECT total_changes()").Scan(&changes); err != nil {
		return err
	}
	newest, older, begun := j.snapshots()[0], j.snapshots()[1], time.Now()
	changes -= j.routine.Load()
	if changes == j.copied && exists(newest) {
		return nil
	}
	building := newest + ".tmp"
	if err := removeDatabase(building); err != nil {
		return err
	}
	if err := Snapshot(ctx, j.path, building); err != nil {
		return errors.Join(err, removeDatabase(building))
	}
	if err := os.Chtimes(building, begun, begun); err != nil { // what is written from now on may be missing
		return err
	}
	if err := syncFile(building); err != nil {
		return err
	}
	if err := os.Rename(newest, older); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(building, newest); err != nil {
		return err
	}
	j.copied = changes
	return syncDir(filepath.Dir(j.path))
}

// closingSnapshot takes a snapshot before the journal is closed, unless it is large: most restarts are clean, and the next
// start may be the one that meets the damage.
func (j *Journal) closingSnapshot() {
	info, err := os.Stat(j.path)
	if err != nil || info.Size() > closingSize || j.readOnly || damage.Marked(j.path) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := j.failed("take a snapshot", j.takeSnapshot(ctx)); err != nil {
		j.log.Warn().Err(err).Msg("no snapshot of the journal before it is closed")
	}
}

func syncFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Sync()
}

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
		return fmt.Errorf("check the copy of %s: %v", path, err) // not %w: that the copy is damaged says nothing about path
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
		return fmt.Errorf("check database %s: %w: %s", path, damage.Err, said)
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
