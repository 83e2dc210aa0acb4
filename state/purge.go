package state

import (
	"context"
	"fmt"
	"time"
)

// purgeStep is how many rows one transaction of a purge removes: others write
// in between.
const purgeStep = 500

// KeptTasks is how many of the newest tasks of each room stay, for programs and for the memory.
const KeptTasks = 20

// purges remove what is older than ?1 and has nothing left to do, ?2 rows at a
// time: messages first, then tasks, then events. ?3 is KeptTasks.
var purges = []string{
	`DELETE FROM message WHERE seq IN (
		SELECT seq FROM message AS old WHERE at < ?1 AND status <> 0
			AND NOT EXISTS (SELECT 1 FROM task WHERE task.key = old.task AND (task.state <> 'done'
				OR task.seq = (SELECT max(seq) FROM task AS newer WHERE newer.room = task.room AND newer.state <> 'queued')))
		LIMIT ?2)`,
	`DELETE FROM task WHERE key IN (
		SELECT key FROM task AS old WHERE at < ?1 AND state = 'done'
			AND seq < (SELECT min(seq) FROM (SELECT seq FROM task AS newer WHERE newer.room = old.room
				AND newer.state <> 'queued' ORDER BY seq DESC LIMIT ?3))
			AND NOT EXISTS (SELECT 1 FROM message WHERE message.task = old.key AND message.status = 0)
		LIMIT ?2)`,
	`DELETE FROM event WHERE seq IN (
		SELECT seq FROM event AS old WHERE at < ?1 AND status <> 1
			AND seq < (SELECT max(seq) FROM event AS newer WHERE newer.room = old.room)
			AND NOT EXISTS (SELECT 1 FROM task WHERE task.home = old.room AND task.event = old.event AND task.state <> 'done')
		LIMIT ?2)`,
	`DELETE FROM attempt WHERE key IN (SELECT key FROM attempt WHERE at < ?1 LIMIT ?2)`,
}

// Purge removes rows that came to the journal before a time and have nothing
// left to do: archived and decided events, tasks that are done, messages that
// were sent or refused. It adds what rooms used on days before that to their totals. It gives the number of rows. Never
// touched are pending events, the events of tasks that are not done, these tasks with their messages, unsent
// messages with their tasks, and of each room the newest event and the newest
// task with its messages. The clock is this host's, not the events' own.
func (j *Journal) Purge(ctx context.Context, before time.Time) (n int64, err error) {
	if n, err = j.Budget.fold(ctx, before); err != nil {
		return n, j.failed("purge journal", err)
	}
	for _, statement := range purges {
		for {
			gone, err := affect(ctx, j.db, statement, before.UnixMilli(), purgeStep, KeptTasks)
			if err != nil {
				return n, j.failed("purge journal", err)
			}
			n += gone
			if gone < purgeStep {
				break
			}
		}
	}
	return n, j.shrink(ctx)
}

// shrink returns free pages to the disk, a few at a time: others write in between.
func (j *Journal) shrink(ctx context.Context) error {
	for before := -1; ; {
		n, err := value[int](ctx, j.core, "shrink journal", "PRAGMA freelist_count")
		if err != nil || n == 0 || n == before {
			return err
		}
		before = n
		if err := j.exec(ctx, "shrink journal", fmt.Sprintf("PRAGMA incremental_vacuum(%d)", purgeStep)); err != nil {
			return err
		}
	}
}
