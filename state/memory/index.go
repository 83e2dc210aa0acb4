package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"matrix-tui/state/damage"
	"matrix-tui/state/retry"
	"matrix-tui/state/sqlitefile"
)

// File is the name of the file in the state directory.
const File = "memory.db"

// waitTime is how long a call waits for another process that writes, or that has found damage.
const waitTime = 5 * time.Second

// Index is the memory of one room, in the file of all rooms. Its methods are safe for concurrent use, also by several
// processes. Open one when it is needed, and close it soon: a damaged file is replaced when nobody has it open.
type Index struct {
	db       *sql.DB
	lock     *os.File
	path     string
	Room     string // its ID
	room     int64  // its number in the file
	doubts   int64  // at Open
	unfilled bool
}

// Path returns the file in the state directory dir.
func Path(dir string) string { return filepath.Join(dir, File) }

// Open opens the memory of a room. A file that is damaged or of another release is deleted first: see Unfilled. It
// returns ErrLocked if another program keeps the file locked. No error must stop a bot: it can go on without memory.
func Open(ctx context.Context, dir, room string) (*Index, error) {
	x := &Index{path: Path(dir), Room: room}
	if err := x.open(ctx); err != nil {
		return nil, explain(fmt.Errorf("open memory: %w", errors.Join(err, x.close())), x.path)
	}
	return x, nil
}

func (x *Index) open(ctx context.Context) (err error) {
	if err := os.MkdirAll(filepath.Dir(x.path), 0o700); err != nil {
		return err
	}
	if err := x.flock(ctx, syscall.LOCK_SH); err != nil {
		return err
	}
	if err = x.connect(ctx); !damage.Is(err) {
		return err
	}
	// What others find damaged is replaced once: the first of them holds the lock.
	if err := errors.Join(x.disconnect(), x.flock(ctx, syscall.LOCK_EX)); err != nil {
		return err
	}
	if err = x.connect(ctx); damage.Is(err) {
		if err = errors.Join(x.disconnect(), removeFiles(x.path)); err == nil {
			err = x.connect(ctx)
		}
	}
	if err != nil {
		return err
	}
	return x.flock(ctx, syscall.LOCK_SH)
}

// flock waits for the lock: shared by everybody who has the file open, exclusive for who deletes it.
func (x *Index) flock(ctx context.Context, how int) (err error) {
	if x.lock == nil {
		x.lock, err = os.OpenFile(x.path+".lock", os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			return err
		}
	}
	_ = syscall.Flock(int(x.lock.Fd()), syscall.LOCK_UN) // two who wait for each other would wait for ever
	for deadline := time.Now().Add(2 * waitTime); ; {
		err := syscall.Flock(int(x.lock.Fd()), how|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		if time.Now().After(deadline) || retry.Sleep(ctx, 20*time.Millisecond) != nil {
			return errors.Join(ErrLocked, ctx.Err())
		}
	}
}

// Delete deletes the memory of all rooms, for example because the record was replaced.
func Delete(ctx context.Context, dir string) error {
	x := &Index{path: Path(dir)}
	if _, err := os.Lstat(x.path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	err := x.flock(ctx, syscall.LOCK_EX)
	if err == nil {
		err = removeFiles(x.path)
	}
	return explain(errors.Join(err, x.close()), x.path)
}

// removeFiles deletes the file and what belongs to it.
func removeFiles(path string) (err error) {
	for _, end := range []string{"-wal", "-shm", "", ".damaged"} { // a WAL must never meet another database
		if gone := os.Remove(path + end); gone != nil && !errors.Is(gone, os.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// connect opens the file and creates the tables in an empty one. It tries again while the file is locked: SQLite does
// not wait when two connections give a new file its WAL.
func (x *Index) connect(ctx context.Context) error {
	info, missing := os.Lstat(x.path)
	if missing == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", x.path)
	}
	if damage.Marked(x.path) {
		return fmt.Errorf("%w: the last one who used it found that", damage.Err)
	}
	for again := retry.New(5*time.Millisecond, 200*time.Millisecond).Until(time.Now().Add(waitTime)); ; {
		var err error
		if missing != nil { // closing a file that SQLite has open would take its locks away
			err = sqlitefile.Create(x.path)
		}
		if err == nil {
			x.db, err = sqlitefile.Open(x.path, url.Values{"_txlock": {"immediate"}, "_pragma": {
				fmt.Sprintf("busy_timeout(%d)", waitTime.Milliseconds()), "journal_mode(WAL)", "synchronous(FULL)",
				"journal_size_limit(4194304)", "secure_delete(1)", // what is forgotten is gone
			}})
		}
		if err == nil {
			err = x.prepare(ctx)
		}
		if isMissing(err) {
			err = fmt.Errorf("%w: %w", damage.Err, err)
		}
		if !isLocked(err) || again.Wait(ctx, err) != nil {
			return err
		}
		err = x.disconnect()
		if err != nil {
			return err
		}
	}
}

// prepare creates the tables and the room, if they are missing.
func (x *Index) prepare(ctx context.Context) error {
	version, tables := 0, 0
	err := x.db.QueryRowContext(ctx, "SELECT user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_user_version").
		Scan(&version, &tables)
	switch {
	case err != nil:
		return err
	case version != schemaVersion && tables > 0:
		return fmt.Errorf("%w: it is of another release", damage.Err)
	case version != schemaVersion:
		err = sqlitefile.InTx(ctx, x.db, func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, schema); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", schemaVersion))
			return err
		})
		if err != nil && x.db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version) == nil && version == schemaVersion {
			err = nil // another process was faster
		}
	}
	if err != nil {
		return err
	}
	const room = "SELECT id, doubts, NOT filled FROM room WHERE name = ?"
	err = x.db.QueryRowContext(ctx, room, x.Room).Scan(&x.room, &x.doubts, &x.unfilled)
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if _, err = x.db.ExecContext(ctx, "INSERT INTO room (name) VALUES (?) ON CONFLICT DO NOTHING", x.Room); err != nil {
		return err
	}
	return x.db.QueryRowContext(ctx, room, x.Room).Scan(&x.room, &x.doubts, &x.unfilled)
}

// Unfilled reports whether the caller must Rebuild the index of the room: nothing is there yet, somebody has doubted
// it, or the file was damaged.
func (x *Index) Unfilled() bool { return x.unfilled }

// Close closes the index.
func (x *Index) Close() error {
	if err := x.close(); err != nil {
		return explain(fmt.Errorf("close memory: %w", err), x.path)
	}
	return nil
}

func (x *Index) close() error {
	err := x.disconnect()
	if x.lock != nil {
		err = errors.Join(err, x.lock.Close())
		x.lock = nil
	}
	return err
}

func (x *Index) disconnect() error {
	if x.db == nil {
		return nil
	}
	err := x.db.Close()
	x.db = nil
	return err
}

// failed wraps an error with what failed. After damage the next Open deletes the file.
func (x *Index) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	if isMissing(err) {
		err = fmt.Errorf("%w: %w", damage.Err, err)
	}
	if damage.Is(err) {
		err = errors.Join(err, damage.Mark(x.path, err))
	}
	return explain(fmt.Errorf("%s: %w", what, err), x.path)
}
