package memory

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"matrix-tui/state/sentence"
)

// leastForgotten is the shortest text, in bytes, that ForgetText takes: a shorter one would be in nearly every entry.
const leastForgotten = 3

// Forget removes the entries of a hit, by its ID, wherever they are in the memory, and returns how many there were. They
// stay forgotten when their document is stored again: only hashes of them are kept. An entry that is changed later is a
// new one. It returns ErrNotFound if there is no such hit.
func (x *Index) Forget(ctx context.Context, id string) (n int, err error) {
	key, err := hex.DecodeString(strings.TrimSpace(id))
	if err != nil || len(key) == 0 {
		return 0, notFound("%q is not the ID of an entry: `matrix-tui memory search` shows them.", id)
	}
	hashes := map[string]bool{}
	found, err := texts(ctx, x.db, "SELECT text FROM entry JOIN chunk ON chunk.id = entry.chunk WHERE key = ?", key)
	if err != nil {
		return 0, x.failed("forget", err)
	}
	for _, text := range found {
		hashes[string(hashOf(text))] = true
	}
	if len(hashes) == 0 {
		return 0, notFound("There is no entry %s in the memory of this room.", id)
	}
	return x.forget(ctx, func(text string) bool { return hashes[string(hashOf(text))] })
}

// Knows reports whether Forget, with an ID, or ForgetText would find something.
func (x *Index) Knows(ctx context.Context, what string) (bool, error) {
	if key, err := hex.DecodeString(strings.TrimSpace(what)); err == nil && len(key) > 0 {
		found, err := numbers(ctx, x.db, "SELECT id FROM chunk WHERE key = ? LIMIT 1", key)
		if err != nil || len(found) > 0 {
			return len(found) > 0, x.failed("look up entry", err)
		}
	}
	wanted := plain(what)
	if len(wanted) < leastForgotten {
		return false, nil
	}
	n := 0
	err := x.inTx(ctx, func(tx *sql.Tx) (err error) {
		_, _, n, err = matching(ctx, tx, func(e Entry) bool { return strings.Contains(plain(e.Text), wanted) })
		return err
	})
	return n > 0, x.failed("look up entry", err)
}

// ForgetText is Forget for all entries that contain a text; letter case and white space do not count.
func (x *Index) ForgetText(ctx context.Context, text string) (n int, err error) {
	wanted := plain(text)
	if len(wanted) < leastForgotten {
		return 0, notFound("%q is too short: it would be in too many entries.", text)
	}
	n, err = x.forget(ctx, func(text string) bool { return strings.Contains(plain(text), wanted) })
	if err == nil && n == 0 {
		err = notFound("No entry in the memory of this room contains this text.")
	}
	return n, err
}

func notFound(format string, args ...any) error { return sentence.Newf(ErrNotFound, format, args...) }

func (x *Index) forget(ctx context.Context, is func(text string) bool) (n int, err error) {
	err = x.inTx(ctx, func(tx *sql.Tx) error {
		w := newWriter(ctx, tx)
		hashes, count, err := w.dropEntries(func(e Entry) bool { return is(e.Text) }, true)
		if err != nil || count == 0 {
			return err
		}
		n = count
		if err := w.dropLines(func(l Line) bool { return hashes[string(hashOf(l.Text))] || is(l.Text) }); err != nil {
			return err
		}
		if err := w.dropUnused(); err != nil {
			return err
		}
		// The stems of deleted chunks stay in the index until it is merged.
		if _, err := w.exec("INSERT INTO words (words) VALUES ('optimize')"); err != nil {
			return err
		}
		return w.finish()
	})
	if err == nil && n > 0 {
		_, err = x.db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)") // nor is it left in the WAL
		err = errors.Join(err, x.saveForgotten(ctx))
	}
	return n, x.failed("forget", err)
}

// matching returns the units that contain an entry to drop, the hashes of these entries, and their number. Of an entry,
// only its text and its message are known.
func matching(ctx context.Context, tx *sql.Tx, is func(Entry) bool) (
	units map[int64]bool, hashes map[string]bool, n int, err error,
) {
	units, hashes = map[int64]bool{}, map[string]bool{}
	rows, err := tx.QueryContext(ctx, "SELECT unit, text, event FROM entry JOIN chunk ON chunk.id = entry.chunk")
	if err != nil {
		return nil, nil, 0, err
	}
	for rows.Next() {
		var unit int64
		var e Entry
		if err = rows.Scan(&unit, &e.Text, &e.Event); err != nil {
			break
		}
		if is(e) {
			for _, hash := range hashesOf(e.Text) {
				hashes[string(hash)] = true
			}
			units[unit] = true
			n++
		}
	}
	return units, hashes, n, errors.Join(err, rows.Err(), rows.Close())
}

// dropEntries removes entries, and returns their hashes and their number. If it is for good, they stay forgotten.
func (w *writer) dropEntries(is func(Entry) bool, forGood bool) (hashes map[string]bool, n int, err error) {
	units, hashes, n, err := matching(w.ctx, w.tx, is)
	if err != nil {
		return nil, 0, err
	}
	for hash := range hashes {
		if forGood {
			if err := w.forget([]byte(hash)); err != nil {
				return nil, 0, err
			}
		}
	}
	for unit := range units {
		if err := w.change(unit, func(e *Entry) bool { return !is(*e) }); err != nil {
			return nil, 0, err
		}
	}
	return hashes, n, nil
}

// change removes the entries of a unit for which keep is false, and stores what it changes in the others.
func (w *writer) change(unit int64, keep func(*Entry) bool) error {
	var document, session int64
	if err := w.tx.QueryRowContext(w.ctx, "SELECT document, session FROM unit WHERE id = ?", unit).Scan(&document, &session); err != nil {
		return err
	}
	doc, err := w.document(document)
	if err != nil {
		return err
	}
	entries, err := w.entries("SELECT first, last, entry.time, speaker, text, event FROM entry JOIN chunk ON chunk.id = entry.chunk WHERE unit = ? ORDER BY entry.id", unit)
	if err != nil {
		return err
	}
	if err := w.dropUnit(unit); err != nil {
		return err
	}
	left := entries[:0]
	for _, e := range entries {
		if keep(&e) {
			left = append(left, e)
		}
	}
	for _, part := range units(&doc, tidy(left, func([]byte) bool { return false })) {
		part.session = session
		if err := w.addUnit(&doc, document, part); err != nil {
			return err
		}
	}
	_, err = w.exec("UPDATE document SET hash = x'', time = ? WHERE id = ?", time.Now().UnixNano(), document)
	return err
}

// document reads what is known of a document, without its entries.
func (w *writer) document(id int64) (doc Document, err error) {
	err = w.tx.QueryRowContext(w.ctx, "SELECT source, path, weight, origin FROM document WHERE id = ?", id).Scan(&doc.Source, &doc.Path, &doc.Weight, &doc.Origin)
	return doc, err
}

func (w *writer) entries(query string, args ...any) ([]Entry, error) {
	rows, err := w.tx.QueryContext(w.ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read entries: %w", err)
	}
	var all []Entry
	for rows.Next() {
		var e Entry
		var at int64
		if err = rows.Scan(&e.From, &e.To, &at, &e.Speaker, &e.Text, &e.Event); err != nil {
			break
		}
		e.Time = timeOf(at)
		all = append(all, e)
	}
	return all, errors.Join(err, rows.Err(), rows.Close())
}
