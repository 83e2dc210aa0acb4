package memory

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sort"
	"strings"
)

// leastForgotten is the shortest text, in bytes, that can be forgotten: a shorter one would be in nearly every entry.
const leastForgotten = 3

// Removed is an entry that was removed.
type Removed struct {
	Source      Source
	Path, Event string
	Text        string

	id, unit, document int64
}

// Forget removes all entries that contain a text, of any length; letter case and white space do not count. It
// returns ErrNotFound if there are none.
func (x *Index) Forget(ctx context.Context, text string) ([]Removed, error) {
	wanted := plain(text)
	if len(wanted) < leastForgotten {
		return nil, notFound("%q is too short: it would be in too many entries.", text)
	}
	removed, err := x.remove(ctx, func(all []Removed) []Removed { return containing(all, wanted) }, "")
	if err == nil && len(removed) == 0 {
		err = notFound("No entry in the memory of this room contains this text.")
	}
	return removed, err
}

// RemoveEvent removes what a message said, and what comes from it.
func (x *Index) RemoveEvent(ctx context.Context, event string) ([]Removed, error) {
	return x.remove(ctx, func(all []Removed) []Removed { return all }, " AND event <> '' AND event = ?", event)
}

// containing returns the entries that a text is in, also if it is in several of a document.
func containing(all []Removed, wanted string) (found []Removed) {
	for len(all) > 0 {
		n := slices.IndexFunc(all, func(e Removed) bool { return e.document != all[0].document })
		if n < 0 {
			n = len(all)
		}
		hit := make([]bool, n)
		for _, between := range []string{" ", ""} { // a word that is longer than an entry is in two
			var text strings.Builder
			starts := make([]int, n)
			for i, e := range all[:n] {
				starts[i] = text.Len()
				text.WriteString(plain(e.Text) + between)
			}
			for at := 0; ; at++ {
				i := strings.Index(text.String()[at:], wanted)
				if i < 0 {
					break
				}
				at += i
				for j := max(sort.SearchInts(starts, at+1)-1, 0); j < n && starts[j] < at+len(wanted); j++ {
					hit[j] = true
				}
			}
		}
		for i, e := range all[:n] {
			if hit[i] {
				found = append(found, e)
			}
		}
		all = all[n:]
	}
	return found
}

// remove removes the entries that pick has chosen, of all in the room or of some.
func (x *Index) remove(ctx context.Context, pick func(all []Removed) []Removed, where string, args ...any) (
	removed []Removed, err error,
) {
	err = x.write(ctx, "forget", func(w *writer) error {
		all, err := w.entries(where, args...)
		if removed = pick(all); err != nil || len(removed) == 0 {
			return err
		}
		units := map[int64]map[int64]bool{}
		for _, e := range removed {
			if units[e.unit] == nil {
				units[e.unit] = map[int64]bool{}
			}
			units[e.unit][e.id] = true
		}
		for unit, gone := range units {
			if err := w.dropEntries(unit, gone); err != nil {
				return err
			}
		}
		return errors.Join(w.dropEmpty(), w.dropUnused(maxVectors))
	})
	if err == nil && len(removed) > 0 { // nor is it left in the WAL
		_, err = x.db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
		err = x.failed("forget", err)
	}
	if err != nil {
		return nil, err
	}
	return removed, nil
}

// entries reads entries of the room, in order.
func (w *writer) entries(where string, args ...any) (all []Removed, err error) {
	err = each(w.ctx, w.tx, func(rows *sql.Rows) error {
		var e Removed
		err := rows.Scan(&e.id, &e.unit, &e.document, &e.Source, &e.Path, &e.Event, &e.Text)
		all = append(all, e)
		return err
	}, `SELECT entry.id, unit, document, source, path, event, text FROM document JOIN unit ON unit.document = document.id
		JOIN chunk ON chunk.unit = unit.id JOIN entry ON entry.chunk = chunk.id
		WHERE document.room = ?`+where+" ORDER BY document, entry.id", append([]any{w.room}, args...)...)
	return all, err
}

// dropEntries removes entries of a unit.
func (w *writer) dropEntries(id int64, gone map[int64]bool) error {
	var document int64
	var part unit
	err := w.tx.QueryRowContext(w.ctx, "SELECT document, session FROM unit WHERE id = ? AND room = ?", id, w.room).
		Scan(&document, &part.session)
	if err != nil {
		return err
	}
	var left []Entry
	err = each(w.ctx, w.tx, func(rows *sql.Rows) error {
		var id int64
		e, err := scanEntry(rows, &id)
		if !gone[id] {
			left = append(left, e)
		}
		return err
	}, "SELECT "+entryColumns+`, entry.id FROM entry JOIN chunk ON chunk.id = entry.chunk
		WHERE unit = ? ORDER BY entry.id`, id)
	if err = errors.Join(err, w.drop("unit.id = ?", id)); err != nil {
		return err
	}
	if len(left) > 0 {
		part.chunks = chunks(left)
		err = w.addUnit(document, part)
	}
	if err == nil { // so that the document is stored again as the caller has it
		_, err = w.exec("UPDATE document SET hash = x'' WHERE id = ?", document)
	}
	return err
}

const entryColumns = "first, last, entry.time, speaker, text, event"

func scanEntry(rows *sql.Rows, more ...any) (e Entry, err error) {
	var at int64
	err = rows.Scan(append([]any{&e.From, &e.To, &at, &e.Speaker, &e.Text, &e.Event}, more...)...)
	e.Time = timeOf(at)
	return e, err
}
