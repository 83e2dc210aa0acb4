package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"matrix-tui/state/disk"
)

// Clock is a time that the bot has believed, and how long the host had been running then.
type Clock struct {
	Time time.Time     `json:"time"`
	Boot string        `json:"boot"` // ID of the boot
	Up   time.Duration `json:"up"`   // since the boot, ns
	// Behind says that the clock is ahead of Time, Told that the owners know it.
	Behind bool `json:"behind,omitempty"`
	Told   bool `json:"told,omitempty"`
}

// LastClock returns what KeepClock has stored last, or the zero Clock.
func (j *Journal) LastClock(ctx context.Context) (c Clock, err error) {
	var text string
	err = j.db.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'clock'").Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return c, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &c)
	}
	return c, j.failed("read the last time", err)
}

// KeepClock stores a time for the next start.
func (j *Journal) KeepClock(ctx context.Context, c Clock) error {
	j.routine.Add(1)
	_, err := j.db.ExecContext(ctx, "INSERT OR REPLACE INTO meta (key, value) VALUES ('clock', ?)", string(disk.JSON(c)))
	return j.failed("store the time", err)
}
