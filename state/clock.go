package state

import (
	"context"
	"encoding/json"
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
	text, err := value[string](ctx, j.core, "read the last time", "SELECT value FROM meta WHERE key = 'clock'")
	if err != nil || text == "" {
		return c, err
	}
	return c, j.failed("read the last time", json.Unmarshal([]byte(text), &c))
}

// KeepClock stores a time for the next start.
func (j *Journal) KeepClock(ctx context.Context, c Clock) error {
	j.routine.Add(1)
	return j.exec(
		ctx,
		"store the time",
		"INSERT OR REPLACE INTO meta (key, value) VALUES ('clock', ?)",
		string(disk.JSON(c)),
	)
}
