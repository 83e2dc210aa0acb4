package bottest

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strconv"
	"time"
)

// doDue changes when an entry of a room's schedule is due next, while the bot is not running: to a time, or by a length
// of time.
func doDue(ctx context.Context, sc *script, _ bool, args []string) error {
	number, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	next, value := "next + ?", int64(0)
	if by, err := time.ParseDuration(args[2]); err == nil {
		value = int64(by)
	} else if at, err := time.Parse(time.RFC3339, args[2]); err == nil {
		next, value = "?", at.UnixNano()
	} else {
		return err
	}
	return inDatabase(filepath.Join(sc.state(), "journal.db"), func(db *sql.DB) error {
		res, err := db.ExecContext(ctx, "UPDATE entry SET next = "+next+" WHERE room = ? AND number = ?", value,
			sc.ts.Getenv(args[0]), number)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n != 1 {
			return fmt.Errorf("%d entries have changed (%v)", n, err)
		}
		return nil
	})
}
