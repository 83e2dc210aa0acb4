package bottest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // reads the bot's journal

	"matrix-tui/bot/bottest/host"
)

// quiet waits until the bot's journal contains every message that was sent while the bot was in the room, all of them
// are finished and no message is unsent.
func (sc *script) quiet(ctx context.Context) error {
	why := "no journal"
	err := host.Poll(ctx, func() (bool, error) {
		now, err := sc.unfinished(ctx)
		if ctx.Err() == nil {
			why = now
		}
		if err != nil && ctx.Err() == nil {
			why = err.Error() // a journal that is just being created
			return false, nil
		}
		if why != "" && sc.machine == nil && !sc.bot.proc.Alive() && !sc.releaseRuns() {
			return false, errors.New("the bot is not running, and " + why)
		}
		return why == "", nil
	})
	if err != nil {
		return fmt.Errorf("the bot does not finish its work: %w: %s", err, why)
	}
	return nil
}

// journal opens the bot's journal for reading.
func (sc *script) journal() (*sql.DB, error) {
	path := filepath.Join(sc.state(), "journal.db")
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	return sql.Open("sqlite", "file:"+path+"?mode=ro&_pragma=busy_timeout(2000)")
}

// lastSent holds the last event that the bot has sent to each room.
func (sc *script) lastSent(ctx context.Context) (map[string]string, error) {
	db, err := sc.journal()
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, "SELECT room, event, max(seq) FROM message WHERE event <> '' GROUP BY room")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	last := map[string]string{}
	for rows.Next() {
		var room, event string
		var seq int64
		if err := rows.Scan(&room, &event, &seq); err != nil {
			return nil, err
		}
		last[room] = event
	}
	return last, rows.Err()
}

// unfinished says what the bot still has to do, "" for nothing.
func (sc *script) unfinished(ctx context.Context) (string, error) {
	db, err := sc.journal()
	if errors.Is(err, os.ErrNotExist) && len(sc.said) == 0 {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for room, events := range sc.said {
		marks := strings.TrimSuffix(strings.Repeat("?,", len(events)), ",")
		args := []any{room}
		for _, event := range events {
			args = append(args, event)
		}
		var known int
		if err := db.QueryRowContext(ctx, "SELECT count(*) FROM event WHERE room = ? AND event IN ("+marks+")",
			args...).Scan(&known); err != nil {
			return "", err
		}
		if known != len(events) {
			return fmt.Sprintf("%d of %d messages of %s have not arrived", len(events)-known, len(events), room), nil
		}
	}
	var tasks, unsent int
	if err := db.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM event WHERE status = 1) + (SELECT count(*) FROM gap) +
		(SELECT count(*) FROM task WHERE state IN ('queued', 'running', 'answered'))`).Scan(&tasks); err != nil {
		return "", err
	}
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM message WHERE status = 0").Scan(&unsent); err != nil {
		return "", err
	}
	if tasks+unsent > 0 {
		return fmt.Sprintf("%d tasks are unfinished, %d messages unsent", tasks, unsent), nil
	}
	return "", nil
}
