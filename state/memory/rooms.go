package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"time"

	"matrix-tui/state/damage"
	"matrix-tui/state/sqlitefile"
)

// Exists reports whether something is remembered of a room.
func Exists(dir, room string) bool {
	found, err := readRooms(context.Background(), dir, "SELECT name FROM room WHERE chunks > 0 AND name = ?", room)
	return err == nil && len(found) > 0
}

// Rooms lists the rooms of which something is remembered in the state directory dir.
func Rooms(ctx context.Context, dir string) ([]string, error) {
	return readRooms(ctx, dir, "SELECT name FROM room WHERE chunks > 0 ORDER BY name")
}

// Doubted lists the rooms that have an index which does not follow the record.
func Doubted(ctx context.Context, dir string) ([]string, error) {
	return readRooms(ctx, dir, "SELECT name FROM room WHERE filled = 0 AND doubts > 0 ORDER BY name")
}

// readRooms reads names from the file, if there is one.
func readRooms(ctx context.Context, dir, query string, args ...any) (rooms []string, err error) {
	err = readFile(dir, func(db *sql.DB) error {
		rooms, err = texts(ctx, db, query, args...)
		return err
	})
	if damage.Is(err) || isMissing(err) { // the next Open deletes it
		return nil, nil
	}
	return rooms, explain(err, Path(dir))
}

// readFile reads the file without changing it.
func readFile(dir string, do func(*sql.DB) error) error {
	if _, err := os.Stat(Path(dir)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	db, err := sqlitefile.Open(Path(dir), url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(2000)", "query_only(1)"}})
	if err != nil {
		return err
	}
	defer db.Close()
	if err := do(db); err != nil {
		return fmt.Errorf("read memory: %w", err)
	}
	return nil
}

// Health is what Examine finds out about the file.
type Health struct {
	Rooms   int
	Bytes   int64     // with the WAL; 0 if there is no file
	Changed time.Time // the last write; zero if there was none
}

// Examine checks the file of the state directory dir. It reads all of it (60 ms for 36 MB), and changes nothing.
func Examine(ctx context.Context, dir string) (h Health, err error) {
	h.Bytes = fileSize(dir)
	err = readFile(dir, func(db *sql.DB) error {
		if damage.Marked(Path(dir)) {
			return fmt.Errorf("%w: the last one who used it found that", damage.Err)
		}
		var changed int64
		err := db.QueryRowContext(ctx, "SELECT count(*), ifnull(max(changed), 0) FROM room WHERE chunks > 0").
			Scan(&h.Rooms, &changed)
		h.Changed = timeOf(changed)
		if err == nil {
			err = damage.Check(ctx, db)
		}
		if isMissing(err) {
			err = fmt.Errorf("%w: %w", damage.Err, err)
		}
		return err
	})
	return h, explain(err, Path(dir))
}

func fileSize(dir string) (size int64) {
	for _, name := range []string{Path(dir), Path(dir) + "-wal"} {
		if info, err := os.Stat(name); err == nil {
			size += info.Size()
		}
	}
	return size
}

// removeTime bounds how long it takes to remove a room.
const removeTime = time.Minute

// Remove removes the memory of a room.
func Remove(dir, room string) error {
	if _, err := os.Stat(Path(dir)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), removeTime)
	defer cancel()
	x, err := Open(ctx, dir, room)
	if err != nil {
		return err
	}
	err = x.write(ctx, "remove memory", func(w *writer) error {
		err := errors.Join(w.drop("true"), w.dropEmpty())
		for _, table := range []string{"vector", "sketch", "given"} {
			if err == nil {
				_, err = w.exec("DELETE FROM "+table+" WHERE room = ?", w.room)
			}
		}
		return err
	})
	if err == nil {
		_, err = x.db.ExecContext(ctx, "DELETE FROM room WHERE id = ?", x.room) // whoever has it open cannot write any more
	}
	if err == nil {
		err = wipe(ctx, x.db)
	}
	return errors.Join(x.failed("remove memory", err), x.Close())
}
