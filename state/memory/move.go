package memory

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"matrix-tui/bot/crash"
	"matrix-tui/state/sqlitefile"
)

// Move gives the memory of a room to its successor, unless that has one of its own: then both stay as they are. It may be
// repeated after a crash. A room without memory is no error.
func Move(ctx context.Context, dir, from, to string) error {
	if from == to {
		return nil
	}
	if !Exists(dir, from) {
		list := sidecar(Path(dir, from))
		if !exists(list) || IsKnown(dir, to) {
			return nil
		}
		return os.Rename(list, sidecar(Path(dir, to)))
	}
	if Exists(dir, to) {
		if !isCopied(ctx, dir, from, to) {
			return nil
		}
		return Remove(dir, from) // a crash has kept Move from that
	}
	x, err := Open(ctx, dir, from)
	if err != nil {
		return err
	}
	target := Path(dir, to)
	building := target + ".moving"
	err = errors.Join(removeDatabase(building), x.copyTo(ctx, building, to), x.Close())
	if err == nil {
		crash.Count("rename moved memory")
		err = os.Rename(building, target)
	}
	if err != nil {
		return explain(fmt.Errorf("move memory: %w", errors.Join(err, removeDatabase(building))), target)
	}
	crash.Count("remove moved memory")
	return Remove(dir, from)
}

// copyTo writes the index to a new file, for another room.
func (x *Index) copyTo(ctx context.Context, path, room string) error {
	if _, err := x.db.ExecContext(ctx, "VACUUM INTO '"+strings.ReplaceAll(path, "'", "''")+"'"); err != nil {
		return err
	}
	db, err := connect(path)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "INSERT OR REPLACE INTO meta (key, value) SELECT 'from', ("+lastState+"); UPDATE meta SET value = ? WHERE key = 'room'", room)
	return errors.Join(err, db.Close(), os.Chmod(path, 0o600))
}

// isCopied reports whether the index of a room was moved to another room as it is now.
func isCopied(ctx context.Context, dir, from, to string) bool {
	query := func(room, query string) string {
		db, err := sqlitefile.Open(Path(dir, room), url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(2000)"}})
		if err != nil {
			return ""
		}
		defer db.Close()
		found, err := texts(ctx, db, query)
		if err != nil || len(found) != 1 {
			return ""
		}
		return found[0]
	}
	now := query(from, lastState)
	return now != "" && now == query(to, "SELECT value FROM meta WHERE key = 'from'")
}

// lastState is the room of an index and its last change.
const lastState = "SELECT (SELECT value FROM meta WHERE key = 'room') || ' ' || (SELECT ifnull(max(time), 0) FROM document)"
