package state

import (
	"context"
	"time"
)

// maxAttempts bounds the attempts at the same thing that fail or are cut short, by a crash or a restart.
const maxAttempts = 2

// Attempt calls try, which reports success, unless it has failed or was cut short too often for the same key.
func (j *Events) Attempt(ctx context.Context, key string, try func() bool) error {
	var count int
	err := j.db.QueryRowContext(ctx, `INSERT INTO attempt (key, count, at) VALUES (?, 1, ?)
		ON CONFLICT (key) DO UPDATE SET count = min(count + 1, ?), at = excluded.at RETURNING count`,
		key, time.Now().UnixMilli(), maxAttempts+1).Scan(&count)
	if err != nil {
		return j.failed("store attempt", err)
	}
	if count > maxAttempts || !try() {
		return nil
	}
	return j.exec(ctx, "forget attempts", "DELETE FROM attempt WHERE key = ?", key)
}
