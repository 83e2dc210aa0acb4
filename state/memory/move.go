package memory

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Move gives the memory of a room to its successor, unless that has one of its own: then both stay as they are. It may be
// repeated after a crash. A room without memory is no error.
func Move(ctx context.Context, dir, from, to string) error {
	if from == to || !Exists(dir, from) || Exists(dir, to) {
		return nil
	}
	x, err := Open(ctx, dir, from)
	if err != nil {
		return err
	}
	target := Path(dir, to)
	building := target + ".moving"
	err = errors.Join(removeDatabase(building), x.copyTo(ctx, building, to), x.Close())
	if err == nil {
		err = os.Rename(building, target)
	}
	if err != nil {
		return explain(fmt.Errorf("move memory: %w", errors.Join(err, removeDatabase(building))), target)
	}
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
	_, err = db.ExecContext(ctx, "UPDATE meta SET value = ? WHERE key = 'room'", room)
	return errors.Join(err, db.Close(), os.Chmod(path, 0o600))
}
