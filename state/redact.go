package state

import (
	"context"
	"database/sql"
	"errors"

	"matrix-tui/state/disk"
	"matrix-tui/state/event"
	"matrix-tui/state/scrub"
)

// typesWithText are the types of the events that say something.
const typesWithText = "'" + event.TypeMessage + "', 'm.sticker', '" + event.TypePoll + "', '" + event.TypePollEarly +
	"'"

// quoteBefore is more than the number of messages before a quoted one that a run gets with it.
const quoteBefore = 7

const (
	queryPartOf = "SELECT " + taskColumns + " FROM task WHERE room = ? AND " + begunTask + " AND instr(details, ?)"
	// Tasks of a session that quote an event or one of the next messages after it.
	queryQuoted = `SELECT count(*) FROM task JOIN event AS quoted ON quoted.room = task.home AND quoted.event IN (task.reply_to, task.thread)
		JOIN event AS gone ON gone.room = quoted.room AND gone.event = ?3 AND gone.seq <= quoted.seq
		WHERE task.room = ?1 AND task.` + begunTask + ` AND task.session = ?2 AND ?2 <> ''
		AND (SELECT count(*) FROM event AS later WHERE later.room = gone.room AND later.seq > gone.seq AND later.seq < quoted.seq AND later.type = 'm.room.message') < ?4`
)

// Redact removes what an event says, and what its edits say, also from the tasks of a room that runs have received it
// for, and returns these tasks, also again. The room of the event differs from theirs after a room upgrade. It is no
// error if the journal does not have the event.
func (j *Removal) Redact(ctx context.Context, home, id, room string) (tasks []Task, err error) {
	err = j.inTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE event SET body = '{}', raw = '',
			encryption = CASE WHEN encryption IN ('missing key', 'untrusted') THEN 'undecryptable' ELSE encryption END WHERE room = ?1 AND (event = ?2 OR rel_type = 'm.replace' AND relates_to = ?2)
			AND type IN (`+typesWithText+`, 'm.reaction', 'm.room.encrypted')`, home, id)
		if err != nil {
			return err
		}
		found, err := queryAll(ctx, tx, scanTask, queryPartOf, room, string(disk.JSON(id)))
		if err != nil {
			return err
		}
		own, err := queryOne(ctx, tx, scanTask, queryTaskOf, room, id)
		if err == nil {
			found = append(found, own)
		} else if !errors.Is(err, ErrNotFound) {
			return err
		}
		for _, t := range found {
			t.redact(id)
			if err := updateTask(ctx, tx, t); err != nil {
				return err
			}
			tasks = append(tasks, t)
		}
		return nil
	})
	return tasks, j.failed("redact event", err)
}

// Room removes the tasks of a room that have ended.
func (j *Removal) Room(ctx context.Context, room string) error {
	return j.exec(ctx, "remove tasks", "DELETE FROM task WHERE room = ? AND state = 'done'", room)
}

// Quoted reports whether a run of the room's session may have received an event as a quotation, or as the context of
// one.
func (j *Removal) Quoted(ctx context.Context, home, event, room, session string) (bool, error) {
	n, err := value[int](ctx, j.core, "look up quotations", queryQuoted, room, session, event, quoteBefore)
	return n > 0, err
}

// redact removes what an event says from a task. A newest answer that no run has received stays, because it may be
// withdrawn; so does one that has approved a command.
func (t *Task) redact(event string) {
	if t.Event == event {
		t.Text, t.Edited = scrub.Deleted, true // Edited: the caption of its file does not count
	}
	for i := range t.Said {
		if said := &t.Said[i]; said.Event == event && (i < t.Given || t.State == TaskAnswered || t.State == TaskDone) {
			said.Text, said.Edited = scrub.Deleted, true
		}
	}
	for i := range t.Answers {
		last := i == len(t.Answers)-1 && (t.State == TaskQueued || t.State == TaskRunning)
		if a := &t.Answers[i]; a.Event == event && !(last && (t.Container == "" || t.Approved != nil)) {
			a.Answer = scrub.Deleted
		}
	}
	for i := range t.Files {
		if f := &t.Files[i]; f.Event == event {
			f.Caption = ""
		}
	}
}
