package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"matrix-tui/state/damage"
	"matrix-tui/state/event"
	"matrix-tui/state/pages"
)

// Salvage says what was saved from a damaged journal. It is stored in the new one until
// ForgetSalvage.
type Salvage struct {
	From      string `json:"from"`       // name of the damaged file
	Pages     int    `json:"pages"`      // of the damaged file
	LostPages int    `json:"lost_pages"` // those that could not be read
	LostRows  int    `json:"lost_rows"`  // unreadable ones on other pages
	Token     bool   `json:"token"`      // there is a sync token
	Events    int    `json:"events"`     // saved
	Tasks     int    `json:"tasks"`      // saved and not done
	Messages  int    `json:"messages"`   // saved and not sent yet
}

// Whole reports whether everything was saved.
func (s *Salvage) Whole() bool { return s.LostPages == 0 && s.LostRows == 0 }

const salvageKey = "salvage" // in the table meta

// Salvage returns what was saved from a damaged journal, or nil if it was never damaged,
// or that is reported.
func (j *Journal) Salvage(ctx context.Context) (*Salvage, error) {
	var text string
	err := j.db.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = ?", salvageKey).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	s := &Salvage{}
	if err == nil {
		err = json.Unmarshal([]byte(text), s)
	}
	if err != nil {
		return nil, j.failed("read what was salvaged", err)
	}
	return s, nil
}

// ForgetSalvage records that the owners know what was saved.
func (j *Journal) ForgetSalvage(ctx context.Context) error {
	_, err := j.db.ExecContext(ctx, "DELETE FROM meta WHERE key = ?", salvageKey)
	return j.failed("forget what was salvaged", err)
}

// Decided stores that events were decided, for those that a salvaged journal no longer
// has: they may arrive again. They come before all others, and are kept as long as what
// arrives now.
func (j *Journal) Decided(ctx context.Context, room string, events ...string) error {
	err := j.inTx(ctx, func(tx *sql.Tx) error {
		for _, id := range events {
			_, err := tx.ExecContext(ctx, `INSERT INTO event (seq, room, event, sender, type, time, raw, status, at, encryption)
				SELECT min(0, ifnull(min(seq), 0)) - 1, ?1, ?2, '', ?3, 0, '', 4, max(?4, ifnull(max(at), 0)), '' FROM event WHERE true
				ON CONFLICT DO NOTHING`, room, id, event.TypeLost, time.Now().UnixMilli())
			if err != nil {
				return err
			}
		}
		return nil
	})
	return j.failed("store decided events", err)
}

// salvage writes a new journal to path with every row that can be read. The damaged file
// is not changed.
func (j *Journal) salvage(ctx context.Context, path string) (*Salvage, error) {
	report := &Salvage{From: filepath.Base(damage.AsideName(j.path))}
	fresh := &Journal{path: path, log: j.log}
	if err := fresh.create(); err != nil {
		return nil, err
	}
	if err := fresh.connect(fresh.params()); err != nil {
		return nil, err
	}
	err := fresh.fillFrom(ctx, j.path, report)
	if closed := fresh.db.Close(); err == nil {
		err = closed
	}
	return report, err
}

// fillFrom copies the rows of the damaged journal at path into this one, which is empty.
func (j *Journal) fillFrom(ctx context.Context, path string, report *Salvage) error {
	broken, err := pages.Open(path)
	if err != nil {
		return err
	}
	defer broken.Close()
	if err := j.inTx(ctx, func(tx *sql.Tx) error {
		if err := execAll(ctx, tx, schema, fmt.Sprintf("PRAGMA user_version = %d", schemaVersion)); err != nil {
			return err
		}
		tables, err := shapes(ctx, tx)
		if err != nil {
			return err
		}
		report.Pages = broken.Pages()
		report.LostPages = broken.Rows(func(row pages.Row) {
			if err == nil && !tables.insert(ctx, tx, row) {
				report.LostRows++
			}
			if err == nil {
				err = ctx.Err()
			}
		})
		return err
	}); err != nil {
		return err
	}
	return j.inTx(ctx, func(tx *sql.Tx) error { return reconcile(ctx, tx, report) })
}

// reconcile makes the saved rows agree with each other, and stores the report.
func reconcile(ctx context.Context, tx *sql.Tx, report *Salvage) error {
	const stub = `INSERT INTO event (seq, room, event, sender, type, time, raw, status, at, encryption)
		SELECT %s, %s, event, requester, '` + event.TypeLost + `', time / 1000000, '', 4, at, '' FROM task WHERE true ON CONFLICT DO NOTHING`
	for _, statement := range []string{
		// An event whose task exists is decided, even if the event itself is lost.
		`UPDATE event SET status = 4 WHERE status = 1 AND EXISTS (SELECT 1 FROM task WHERE task.room = event.room AND task.event = event.event)`,
		fmt.Sprintf(stub, "seq", "home"), fmt.Sprintf(stub, "NULL", "home"), fmt.Sprintf(stub, "NULL", "room"),
	} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	var before string
	err := tx.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = ?", salvageKey).Scan(&before)
	if old := (Salvage{}); err == nil && json.Unmarshal([]byte(before), &old) == nil { // not reported yet
		report.LostPages, report.LostRows = report.LostPages+old.LostPages, report.LostRows+old.LostRows
	} else if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if err := tx.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM meta WHERE key = 'next_batch'), (SELECT count(*) FROM event),
		(SELECT count(*) FROM task WHERE state <> 'done'), (SELECT count(*) FROM message WHERE status = 0)`).
		Scan(&report.Token, &report.Events, &report.Tasks, &report.Messages); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", salvageKey, string(encodeJSON(report)))
	return err
}
