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

// open opens the file. One that is missing, damaged or of another release is made again by whoever has it alone.
func (x *Index) open(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Dir(x.path), 0o700); err != nil {
		return err
	}
	return unlocked(ctx, func() error {
		err := x.connect(ctx, syscall.LOCK_SH)
		if !damage.Is(err) {
			return err
		}
		if err = x.connect(ctx, syscall.LOCK_EX); damage.Is(err) { // nobody else has made it meanwhile
			err = errors.Join(x.disconnect(), removeFiles(x.path), x.connect(ctx, syscall.LOCK_EX))
		}
		if err != nil {
			return err
		}
		return x.flock(syscall.LOCK_SH)
	})
}

// unlocked does something again while another one keeps the file locked.
func unlocked(ctx context.Context, do func() error) error {
	for again := retry.New(5*time.Millisecond, 200*time.Millisecond).Until(time.Now().Add(2 * waitTime)); ; {
		err := do()
		if !isLocked(err) {
			return err
		}
		if over := again.Wait(ctx, err); over != nil {
			return errors.Join(ErrLocked, over)
		}
	}
}

// flock takes the lock: shared by everybody who has the file open, exclusive for who makes or deletes it. It does not
// wait.
func (x *Index) flock(how int) (err error) {
	if x.lock == nil {
		x.lock, err = os.OpenFile(x.path+".lock", os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			return err
		}
	}
	_ = syscall.Flock(int(x.lock.Fd()), syscall.LOCK_UN) // two who wait for each other would wait for ever
	if err = syscall.Flock(int(x.lock.Fd()), how|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}

// Delete deletes the memory of all rooms, for example because the record was replaced.
func Delete(ctx context.Context, dir string) error {
	x := &Index{path: Path(dir)}
	if _, err := os.Lstat(x.path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	err := unlocked(ctx, func() error { return x.flock(syscall.LOCK_EX) })
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

// connect opens the file, which is damaged if it cannot be used. Whoever has the exclusive lock makes one that is
// missing.
func (x *Index) connect(ctx context.Context, lock int) error {
	if err := errors.Join(x.disconnect(), x.flock(lock)); err != nil {
		return err
	}
	info, err := os.Lstat(x.path)
	missing := errors.Is(err, os.ErrNotExist)
	switch {
	case missing && lock == syscall.LOCK_EX:
		err = errors.Join(removeFiles(x.path), sqlitefile.Create(x.path)) // a WAL may be left
	case missing, damage.Marked(x.path):
		return fmt.Errorf("%w: it is missing, or the last one who used it found that", damage.Err)
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", x.path)
	}
	if err == nil {
		x.db, err = sqlitefile.Open(x.path, url.Values{"_txlock": {"immediate"}, "_pragma": {
			fmt.Sprintf("busy_timeout(%d)", waitTime.Milliseconds()), "journal_mode(WAL)", "synchronous(FULL)",
			"journal_size_limit(4194304)", "secure_delete(1)", // what is forgotten is gone
		}})
	}
	if err == nil {
		err = x.prepare(ctx, missing)
	}
	if isMissing(err) {
		err = fmt.Errorf("%w: %w", damage.Err, err)
	}
	return err
}

// prepare creates the tables in a new file, and the room if it is missing.
func (x *Index) prepare(ctx context.Context, isNew bool) error {
	if isNew {
		if err := sqlitefile.InTx(ctx, x.db, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, schema+fmt.Sprintf("PRAGMA user_version = %d", schemaVersion))
			return err
		}); err != nil {
			return err
		}
	}
	version := 0
	if err := x.db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version != schemaVersion {
		return fmt.Errorf("%w: it is of another release", damage.Err)
	}
	const found = "id, doubts, NOT filled"
	err := x.db.QueryRowContext(ctx, "SELECT "+found+" FROM room WHERE name = ?", x.Room).
		Scan(&x.room, &x.doubts, &x.unfilled)
	if errors.Is(err, sql.ErrNoRows) {
		err = x.db.QueryRowContext(ctx, "INSERT INTO room (name) VALUES (?) ON CONFLICT DO UPDATE SET name = name RETURNING "+
			found, x.Room).Scan(&x.room, &x.doubts, &x.unfilled)
	}
	return err
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
