package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"matrix-tui/state/clean"
)

// maxLines bounds the lines that are remembered: the oldest written ones are dropped first. A daily log of which lines
// were dropped is not folded.
const maxLines = 20_000

// Line is a line of a memory file in the workspace, as it should be: the index knows it
// before the file has it, and until the file has lost it.
type Line struct {
	ID      int64
	Event   string // the message that it comes from, several with spaces between them, or ""
	Path    string // below the workspace, for example MEMORY.md
	Section string // the heading that it is under, or "" for the end of the file
	Text    string // without the mark of a list
	Gone    bool   // it is to be removed
}

const (
	linePending = 0
	lineWritten = 1
	lineGone    = 2
)

// addLines stores lines that are to be written. One that is there already then comes from the new message, and stays if it
// was to be removed. A line that was forgotten is not stored.
func (w *writer) addLines(lines []Line) error {
	if len(lines) == 0 {
		return nil
	}
	forgotten, err := w.forgotten()
	if err != nil {
		return err
	}
	isForgotten := func(event string) bool { return forgotten(eventHash(event)) }
	for _, l := range lines {
		if l.Text = clean.Line(l.Text, maxNote); l.Text == "" || forgotten(hashOf(l.Text)) || slices.ContainsFunc(strings.Fields(l.Event), isForgotten) {
			continue
		}
		if _, err := w.exec(`INSERT INTO line (event, path, section, text, state) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (path, text) DO UPDATE SET state = CASE state WHEN 2 THEN 1 ELSE state END, event = excluded.event`,
			clean.Clip(l.Event, maxPath), clean.Line(l.Path, maxPath), clean.Line(l.Section, maxSpeaker), l.Text, linePending); err != nil {
			return err
		}
	}
	var all int
	if err := w.tx.QueryRowContext(w.ctx, "SELECT count(*) FROM line").Scan(&all); err != nil || all <= maxLines {
		return err
	}
	_, err = w.exec("DELETE FROM line WHERE id IN (SELECT id FROM line ORDER BY state <> 1 DESC, id DESC LIMIT -1 OFFSET ?)", maxLines)
	return err
}

// Unsettled returns the lines that the files in the workspace lack, and those that they should lose, in the order in
// which they were added.
func (x *Index) Unsettled(ctx context.Context) ([]Line, error) {
	lines, err := readLines(ctx, x.db, "state <> ?", lineWritten)
	return lines, x.failed("read lines", err)
}

func readLines(ctx context.Context, q querier, where string, args ...any) (lines []Line, err error) {
	rows, err := q.QueryContext(ctx, "SELECT id, event, path, section, text, state FROM line WHERE "+where+" ORDER BY id", args...)
	if err != nil {
		return nil, fmt.Errorf("query lines: %w", err)
	}
	for rows.Next() {
		var l Line
		var state int
		if err = rows.Scan(&l.ID, &l.Event, &l.Path, &l.Section, &l.Text, &state); err != nil {
			break
		}
		l.Gone = state == lineGone
		lines = append(lines, l)
	}
	return lines, errors.Join(err, rows.Err(), rows.Close())
}

// Settle records that the files in the workspace have these lines, or have lost them. One that was changed or removed
// meanwhile stays as it is; another line may have its ID by now.
func (x *Index) Settle(ctx context.Context, lines []Line) error {
	err := x.inTx(ctx, func(tx *sql.Tx) error {
		w := newWriter(ctx, tx)
		for _, l := range lines {
			statement := "UPDATE line SET state = 1 WHERE id = ? AND path = ? AND text = ? AND state = 0"
			if l.Gone {
				statement = "DELETE FROM line WHERE id = ? AND path = ? AND text = ? AND state = 2"
			}
			if _, err := w.exec(statement, l.ID, l.Path, l.Text); err != nil {
				return err
			}
		}
		return nil
	})
	return x.failed("settle lines", err)
}

// dropLines makes lines disappear: at once if no file has them yet, otherwise with the next change of the files.
func (w *writer) dropLines(is func(Line) bool) error {
	lines, err := readLines(w.ctx, w.tx, "state <> ?", lineGone)
	if err != nil {
		return err
	}
	for _, l := range lines {
		if !is(l) {
			continue
		}
		if _, err := w.exec("DELETE FROM line WHERE id = ? AND state = 0", l.ID); err != nil {
			return err
		}
		if _, err := w.exec("UPDATE line SET state = 2 WHERE id = ? AND state = 1", l.ID); err != nil {
			return err
		}
	}
	return nil
}

// KeepNewest makes all but the newest lines of a file in the workspace disappear from it.
func (x *Index) KeepNewest(ctx context.Context, path string, most int) error {
	err := x.inTx(ctx, func(tx *sql.Tx) error {
		w := newWriter(ctx, tx)
		older, err := readLines(ctx, tx, "path = ? AND state <> ?", path, lineGone)
		if err != nil || len(older) <= most {
			return err
		}
		drop := map[int64]bool{}
		for _, l := range older[:len(older)-most] {
			drop[l.ID] = true
		}
		return w.dropLines(func(l Line) bool { return drop[l.ID] })
	})
	return x.failed("drop lines", err)
}

// Written returns the lines that a file in the workspace has.
func (x *Index) Written(ctx context.Context, path string) ([]Line, error) {
	lines, err := readLines(ctx, x.db, "path = ? AND state = ?", path, lineWritten)
	return lines, x.failed("read lines", err)
}

// Rewrite records that a file in the workspace has lost its lines, and should get them back.
func (x *Index) Rewrite(ctx context.Context, path string) error {
	_, err := x.db.ExecContext(ctx, "UPDATE line SET state = ? WHERE path = ? AND state = ?", linePending, path, lineWritten)
	return x.failed("note lines", err)
}

// ForgetLine forgets a line that somebody has removed from its file, wherever else it is. What the line's message says
// goes, too, as far as it contains this value; "" is nothing.
func (x *Index) ForgetLine(ctx context.Context, l Line, value string) error {
	forget := map[string]bool{string(hashOf(l.Text)): true}
	if value = plain(value); value != "" && l.Event != "" {
		said, err := texts(ctx, x.db, "SELECT text FROM entry WHERE event = ? UNION SELECT text FROM line WHERE event = ?", l.Event, l.Event)
		if err != nil {
			return x.failed("read message", err)
		}
		for _, text := range said {
			if strings.Contains(plain(text), value) {
				forget[string(hashOf(text))] = true
			}
		}
	}
	if _, err := x.forget(ctx, func(text string) bool { return forget[string(hashOf(text))] }); err != nil {
		return err
	}
	_, err := x.db.ExecContext(ctx, "DELETE FROM line WHERE id = ?", l.ID)
	return x.failed("forget line", err)
}
