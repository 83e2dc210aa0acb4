package state

import (
	"context"
	"time"
)

// purgeStep is how many rows one transaction of a purge removes: others write
// in between.
const purgeStep = 500

// Purge removes rows that came to the journal before a time and have nothing
// left to do: archived and done events, messages that were sent or refused. It
// gives their number. Never touched are unfinished and Waiting events, unsent
// messages, messages that belong to such an event, and of each room the newest
// event and the newest task with its messages. The clock is this host's, not
// the events' own.
func (j *Journal) Purge(ctx context.Context, before time.Time) (n int64, err error) {
	for _, statement := range []string{
		`DELETE FROM outbound WHERE seq IN (
			SELECT seq FROM outbound WHERE at < ?1 AND status <> 0
				AND task NOT IN (SELECT event FROM inbound WHERE ` + unfinished + `)
				AND task NOT IN (SELECT event FROM inbound WHERE ` + waiting + `)
				AND task NOT IN (SELECT event FROM inbound WHERE seq IN (SELECT max(seq) FROM inbound WHERE task IS NOT NULL GROUP BY room))
			LIMIT ?2)`,
		`DELETE FROM inbound WHERE seq IN (
			SELECT seq FROM inbound AS old WHERE at < ?1 AND status IN (0, 4)
				AND seq < (SELECT max(seq) FROM inbound AS newer WHERE newer.room = old.room)
				AND seq <> ifnull((SELECT max(seq) FROM inbound AS tasks WHERE tasks.room = old.room AND tasks.task IS NOT NULL), 0)
				AND NOT EXISTS (SELECT 1 FROM outbound WHERE outbound.room = old.room AND outbound.status = 0 AND outbound.task = old.event)
			LIMIT ?2)`,
	} {
		for {
			res, err := j.db.ExecContext(ctx, statement, before.UnixMilli(), purgeStep)
			if err != nil {
				return n, j.failed("purge journal", err)
			}
			gone, err := res.RowsAffected()
			if err != nil {
				return n, j.failed("purge journal", err)
			}
			n += gone
			if gone < purgeStep {
				break
			}
		}
	}
	return n, nil
}
