package memory

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
)

// leastHashed is the shortest text, in bytes, that a redaction or an edit makes unwelcome everywhere: others may say
// "yes".
const leastHashed = 12

// Redact removes what a message said, and the lines that come from it. It stays forgotten if it is longer than a word
// or two, unless another message says the same. It reports whether there was anything.
func (x *Index) Redact(ctx context.Context, event string) (found bool, err error) {
	if event == "" {
		return false, nil
	}
	err = x.inTx(ctx, func(tx *sql.Tx) error {
		w := newWriter(ctx, tx)
		units, err := numbers(ctx, tx, "SELECT DISTINCT unit FROM entry JOIN chunk ON chunk.id = entry.chunk WHERE event = ? ORDER BY unit", event)
		if err != nil {
			return err
		}
		said, err := texts(ctx, tx, "SELECT text FROM entry WHERE event = ?", event)
		if err != nil {
			return err
		}
		found = len(units) > 0
		if err := w.forget(eventHash(event)); err != nil {
			return err
		}
		if err := w.forgetSaid(event, said); err != nil {
			return err
		}
		for _, unit := range units {
			if err := w.change(unit, func(e *Entry) bool { return e.Event != event }); err != nil {
				return err
			}
		}
		if err := w.redactLines(event); err != nil || !found {
			return err
		}
		return w.finishRemoval()
	})
	if err == nil {
		err = x.saveForgotten(ctx)
	}
	return found, x.failed("redact message", err)
}

// finishRemoval removes what is left of entries that are gone.
func (w *writer) finishRemoval() error {
	if err := w.dropUnused(); err != nil {
		return err
	}
	// The stems of deleted chunks stay in the index until it is merged.
	if _, err := w.exec("INSERT INTO words (words) VALUES ('optimize')"); err != nil {
		return err
	}
	return w.finish()
}

// forgetSaid makes texts of a message unwelcome, but those that are short and those that other messages have said.
func (w *writer) forgetSaid(event string, said []string) error {
	said = slices.DeleteFunc(said, func(text string) bool { return len(text) < leastHashed })
	others, err := w.saidElsewhere(event, said)
	if err != nil {
		return err
	}
	for _, text := range said {
		if others[plain(text)] != "" {
			continue
		}
		for _, hash := range hashesOf(text) {
			if err := w.forget(hash); err != nil {
				return err
			}
		}
	}
	return nil
}

// saidElsewhere returns which texts also come from other messages than this one, as plain text, with one of these
// messages.
func (w *writer) saidElsewhere(event string, said []string) (others map[string]string, err error) {
	if len(said) == 0 {
		return nil, nil
	}
	wanted := map[string]bool{}
	for _, text := range said {
		wanted[plain(text)] = true
	}
	others = map[string]string{}
	rows, err := w.tx.QueryContext(w.ctx, "SELECT text, event FROM entry WHERE event <> '' AND event <> ?", event)
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		var text, other string
		if err = rows.Scan(&text, &other); err != nil {
			break
		}
		if text = plain(text); wanted[text] {
			others[text] = other
		}
	}
	return others, errors.Join(err, rows.Err(), rows.Close())
}

// redactLines removes the lines that come from a message, also from what the index has of the files, which follow later.
// A line that another message has said, too, is that one's.
func (w *writer) redactLines(event string) error {
	lines, err := w.linesOf(event)
	if err != nil || len(lines) == 0 {
		return err
	}
	var said []string
	for _, l := range lines {
		said = append(said, l.Text)
	}
	others, err := w.saidElsewhere(event, said)
	if err != nil {
		return err
	}
	gone := map[int64]bool{}
	copies := map[string]bool{}
	for _, l := range lines {
		if other := others[plain(l.Text)]; other != "" {
			if _, err := w.exec("UPDATE line SET event = ? WHERE id = ?", other, l.ID); err != nil {
				return err
			}
			continue
		}
		gone[l.ID], copies[string(hashOf(l.Text))] = true, true
		if err := w.forget(hashOf(l.Text)); err != nil { // a file that is being read may have it
			return err
		}
	}
	if err := w.dropCopies(copies); err != nil {
		return err
	}
	return w.dropLines(func(l Line) bool { return gone[l.ID] })
}

// linesOf returns the lines that come from one of these messages.
func (w *writer) linesOf(events ...string) ([]Line, error) {
	lines, err := readLines(w.ctx, w.tx, "event <> ''")
	return slices.DeleteFunc(lines, func(l Line) bool {
		return !slices.ContainsFunc(strings.Fields(l.Event), func(event string) bool { return slices.Contains(events, event) })
	}), err
}

// dropCopies removes lines, by their hashes, from what the index has of the files.
func (w *writer) dropCopies(copies map[string]bool) error {
	if len(copies) == 0 {
		return nil
	}
	_, _, err := w.dropEntries(func(e Entry) bool { return e.Event == "" && copies[string(hashOf(e.Text))] }, false)
	return err
}
