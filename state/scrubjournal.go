package state

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"

	"matrix-tui/state/disk"
	"matrix-tui/state/scrub"
)

// Removal takes texts out of all parts of the journal.
type Removal struct {
	*core
	stale chan<- struct{} // tells the snapshots that they have what was removed
}

// Clear makes sure that nothing of what was removed is left in the journal's files, and has its snapshots replaced.
func (j *Removal) Clear(ctx context.Context) error {
	err := markStale(ctx, j.db)
	if err == nil {
		err = run(ctx, j.db, "PRAGMA wal_checkpoint(TRUNCATE)")
	}
	select {
	case j.stale <- struct{}{}:
	default:
	}
	return j.failed("empty the WAL", err)
}

// Scrubbed is what was removed from the journal.
type Scrubbed struct {
	Texts []string // that are gone as a whole
	Found bool     // anything was changed
	Open  bool     // a task that has not ended still has the text
}

// Scrub scrubs what the journal has of a room: events that are decided, tasks that are done, messages that were sent,
// notes, imports and entries of the schedule. It keeps hashes of what it removes, also in other forms, for the room in
// which that must not be learned again.
func (j *Removal) Scrub(ctx context.Context, room, home string, change *scrub.Scrub,
	forms ...func(text string) string) (out Scrubbed, err error) {
	if len(change.Needles) == 0 {
		return out, nil
	}
	err = j.inTx(ctx, func(tx *sql.Tx) error {
		out = Scrubbed{}
		for _, step := range []func(context.Context, *sql.Tx, string, *scrub.Scrub, *Scrubbed) error{scrubEvents, scrubTasks,
			scrubMessages, scrubNotes, scrubEntries} {
			if err := step(ctx, tx, home, change, &out); err != nil {
				return err
			}
		}
		if !out.Found {
			return nil
		}
		if err := markUntidy(ctx, tx, room); err != nil {
			return err
		}
		gone := slices.Clone(out.Texts)
		for _, form := range forms {
			for _, text := range out.Texts {
				gone = append(gone, form(text))
			}
		}
		return forget(ctx, tx, room, gone...)
	})
	return out, j.failed("forget", err)
}

// RedactNotes removes the notes that come from a message.
func (j *Memory) RedactNotes(ctx context.Context, room, event string) error {
	return j.change(ctx, "remove notes", func(tx *sql.Tx) error {
		gone, err := queryAll(ctx, tx, scanNote, "SELECT "+noteColumns+
			" FROM note WHERE room = ? AND event = ? AND event <> ''", room, event)
		if err != nil {
			return err
		}
		return errors.Join(removeNotes(ctx, tx, gone), markUntidy(ctx, tx, room))
	})
}

func markUntidy(ctx context.Context, db queryer, room string) error {
	return run(ctx, db, "INSERT INTO meta (key, value) VALUES ('untidy ' || ?, '') ON CONFLICT DO NOTHING", room)
}

// Untidy reports whether a container of the room may still have what was scrubbed, until Tidied.
func (j *Memory) Untidy(ctx context.Context, room string) (bool, error) {
	return value[bool](ctx, j.core, "look up what is to be removed", "SELECT 1 FROM meta WHERE key = 'untidy ' || ?", room)
}

// Tidied records that the room's container has nothing of what was scrubbed.
func (j *Memory) Tidied(ctx context.Context, room string) error {
	return j.exec(ctx, "note what was removed", "DELETE FROM meta WHERE key = 'untidy ' || ?", room)
}

// keyed is a row with JSON.
type keyed struct {
	seq  int64
	json string
}

func scanKeyed(row scanner) (k keyed, err error) {
	err = row.Scan(&k.seq, &k.json)
	return k, err
}

func scrubEvents(ctx context.Context, tx *sql.Tx, room string, change *scrub.Scrub, out *Scrubbed) error {
	where, args := change.Where("body")
	rows, err := queryAll(ctx, tx, scanKeyed, "SELECT seq, body FROM event WHERE room = ? AND status <> 1 AND type IN ("+
		typesWithText+
		") AND NOT (room = ? AND (event = ? OR rel_type = 'm.replace' AND relates_to = ?))"+where,
		append([]any{room, change.Home, change.Event, change.Event}, args...)...)
	for _, row := range rows {
		now, was := row.scrubbed(change)
		if len(was) == 0 {
			continue
		}
		out.add(change, was...)
		if err := run(ctx, tx, "UPDATE event SET body = ?, raw = '' WHERE seq = ?", now, row.seq); err != nil {
			return err
		}
	}
	return err
}

// scrubbed returns the JSON as it is to be: nothing is left if a text goes as a whole.
func (k keyed) scrubbed(change *scrub.Scrub) (now string, was []string) {
	out, was, _ := scrub.JSON([]byte(k.json), change)
	if len(was) > 0 && bytes.Contains(out, disk.JSON(scrub.Deleted)) {
		out = []byte("{}")
	}
	return string(out), was
}

// add notes texts that were changed. One of which a part is left is no text that must not come back.
func (s *Scrubbed) add(change *scrub.Scrub, texts ...string) {
	for _, text := range texts {
		if s.Found = true; text != scrub.Deleted {
			if now, _ := change.Text(text); now == scrub.Deleted {
				s.Texts = append(s.Texts, text)
			}
		}
	}
}

func scrubMessages(ctx context.Context, tx *sql.Tx, room string, change *scrub.Scrub, out *Scrubbed) error {
	where, args := change.Where("body || details || small")
	rows, err := queryAll(ctx, tx, scanMessage, "SELECT "+messageColumns+" FROM message WHERE room = ? AND status <> 0"+
		where, append([]any{room}, args...)...)
	for _, m := range rows {
		changed := false
		for _, field := range []*string{&m.Body, &m.Details, &m.Small} {
			if now, hit := change.Text(*field); hit && *field != scrub.Deleted {
				*field, changed = now, true
			}
		}
		if !changed {
			continue
		}
		out.Found = true
		if err := run(ctx, tx, "UPDATE message SET body = ?, details = ?, small = ? WHERE seq = ?", m.Body,
			m.Details, m.Small, m.Seq); err != nil {
			return err
		}
	}
	return err
}

func scrubTasks(ctx context.Context, tx *sql.Tx, room string, change *scrub.Scrub, out *Scrubbed) error {
	where, args := change.Where("text || question || question_context || held_command || error || details")
	tasks, err := queryAll(ctx, tx, scanTask, "SELECT "+taskColumns+" FROM task WHERE room = ?"+where,
		append([]any{room}, args...)...)
	for _, t := range tasks {
		details, was, err := scrub.JSON(disk.JSON(t.Details), change)
		if err != nil {
			return err
		}
		for _, field := range []*string{&t.Text, &t.Question, &t.QuestionContext, &t.HeldCommand, &t.Error} {
			if now, hit := change.Text(*field); hit && *field != scrub.Deleted {
				was = append(was, *field)
				*field = now
			}
		}
		switch {
		case len(was) == 0:
			continue
		case t.State != TaskDone && t.State != TaskAnswered:
			out.Open = true
			continue
		}
		t.Details = Details{}
		if err := json.Unmarshal(details, &t.Details); err != nil {
			return err
		}
		out.add(change, was...)
		if err := updateTask(ctx, tx, t); err != nil {
			return err
		}
	}
	return err
}

func scrubNotes(ctx context.Context, tx *sql.Tx, room string, change *scrub.Scrub, out *Scrubbed) error {
	notes, err := queryAll(ctx, tx, scanNote, "SELECT "+noteColumns+" FROM note WHERE room = ?", room)
	if err != nil {
		return err
	}
	var gone []Note
	for _, n := range notes {
		for _, text := range []string{n.Text, n.Quote, n.Replaces} {
			if _, hit := change.Text(text); hit {
				gone, out.Found = append(gone, n), true
				break
			}
		}
	}
	if err := removeNotes(ctx, tx, gone); err != nil {
		return err
	}
	rows, err := queryAll(ctx, tx, scanKeyed, "SELECT seq, text FROM import WHERE room = ?", room)
	for _, row := range rows {
		if _, hit := change.Text(row.json); !hit {
			continue
		}
		out.add(change, row.json)
		if err := run(ctx, tx, "DELETE FROM import WHERE seq = ?", row.seq); err != nil {
			return err
		}
	}
	return err
}
