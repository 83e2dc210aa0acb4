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
	"strconv"
	"time"

	"matrix-tui/state/damage"
	"matrix-tui/state/disk"
	"matrix-tui/state/sqlitefile"
)

const (
	// SnapshotEvery is the least time between two snapshots of the journal.
	SnapshotEvery = time.Hour
	// staleEvery is the least time between two snapshots while they have something that was removed.
	staleEvery = time.Minute
	// closingSize is up to which size a journal gets a snapshot when it is closed.
	closingSize = 64 << 20
)

// Snapshots are the copies from which a damaged journal is restored.
type Snapshots struct {
	*core
	corrupt string        // where a damaged journal was moved
	stale   chan struct{} // holds one token while snapshots are to be replaced
	copied  int64         // changes that the newest snapshot has, of this process
}

// files returns where the snapshots of the journal are, the newest first.
func (j *Snapshots) files() []string {
	return []string{j.path + ".snapshot", j.path + ".snapshot-old"}
}

// staleKey in the table meta says that something was removed that the snapshots have: a restore would bring it back.
// Its value counts how often.
const staleKey = "snapshots stale"

func markStale(ctx context.Context, db queryer) error {
	return run(
		ctx,
		db,
		"INSERT INTO meta (key, value) VALUES (?, 1) ON CONFLICT DO UPDATE SET value = value + 1",
		staleKey,
	)
}

// staleMark returns the mark, or 0 if the snapshots have nothing that was removed.
func (j *Snapshots) staleMark(ctx context.Context) (int, error) {
	return queryValue[int](ctx, j.db, "SELECT CAST(value AS INTEGER) FROM meta WHERE key = ?", staleKey)
}

// Stale receives when snapshots have something that was removed: Take is due.
func (j *Snapshots) Stale() <-chan struct{} { return j.stale }

// Take copies the journal to its newest snapshot, and keeps the one before. It does nothing if the newest one is
// too young, or if nothing was written since. If the snapshots have something that was removed, a minute is old enough,
// and it replaces both. It returns when to call it again. Others can write meanwhile.
func (j *Snapshots) Take(ctx context.Context) (next time.Duration, err error) {
	every := SnapshotEvery
	if mark, err := j.staleMark(ctx); err != nil {
		return every, j.failed("take a snapshot", err)
	} else if mark > 0 {
		every = staleEvery
	}
	if info, err := os.Stat(j.files()[0]); err == nil {
		if age := time.Since(info.ModTime()); age >= 0 && age < every {
			return every - age, nil
		}
	}
	return SnapshotEvery, j.failed("take a snapshot", j.take(ctx))
}

func (j *Snapshots) take(ctx context.Context) error {
	var changes int64
	if err := j.db.QueryRowContext(ctx, "SELECT total_changes()").Scan(&changes); err != nil {
		return err
	}
	stale, err := j.staleMark(ctx)
	if err != nil {
		return err
	}
	newest, older, begun := j.files()[0], j.files()[1], time.Now()
	changes -= j.routine.Load()
	if changes == j.copied && stale == 0 && exists(newest) {
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
	if stale > 0 {
		if err := os.Remove(older); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := disk.SyncDir(filepath.Dir(j.path)); err != nil || stale == 0 {
		return err
	}
	j.routine.Add(1)
	return run(
		ctx,
		j.db,
		"DELETE FROM meta WHERE key = ? AND value = ?",
		staleKey,
		strconv.Itoa(stale),
	) // unless more was removed
}

// close takes a snapshot before the journal is closed, unless it is large: most restarts are clean, and the next
// start may be the one that meets the damage.
func (j *Snapshots) close() {
	info, err := os.Stat(j.path)
	if err != nil || info.Size() > closingSize || j.readOnly || j.joined || damage.Marked(j.path) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := j.failed("take a snapshot", j.take(ctx)); err != nil {
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
		return disk.Explain(fmt.Errorf("copy database %s: %w", path, err), into)
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
	return run(ctx, db, "VACUUM INTO ?", into)
}

// CheckDatabase lets SQLite check a database for damage.
func CheckDatabase(ctx context.Context, path string) error {
	db, err := openReadOnly(path)
	if err != nil {
		return fmt.Errorf("check database %s: %w", path, err)
	}
	defer db.Close()
	if err := damage.Check(ctx, db); err != nil {
		return disk.Explain(fmt.Errorf("check database %s: %w", path, err), path)
	}
	return nil
}

func openReadOnly(path string) (*sql.DB, error) {
	return sqlitefile.Open(path, url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(10000)"}})
}
