package memory

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"matrix-tui/state/clean"
)

// Redact removes what a message said, and the lines that come from it. It stays forgotten if it is longer than a word
// or two. It reports whether there was anything.
func (x *Index) Redact(ctx context.Context, event string) (found bool, err error) {
	return x.replace(ctx, event, "")
}

// Edit replaces what a message said, and removes the lines that come from it; the caller then adds those of the new
// text. It reports whether the message is in the memory.
func (x *Index) Edit(ctx context.Context, event, text string) (found bool, err error) {
	return x.replace(ctx, event, strings.TrimSpace(clean.Text(text)))
}

// leastHashed is the shortest text, in bytes, that a redaction makes unwelcome everywhere: others may say "yes".
const leastHashed = 12

func (x *Index) replace(ctx context.Context, event, text string) (found bool, err error) {
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
		for _, old := range said {
			if len(old) < leastHashed || old == text {
				continue
			}
			for _, hash := range hashesOf(old) {
				if err := w.forget(hash); err != nil {
					return err
				}
			}
		}
		if text == "" {
			if err := w.forget(eventHash(event)); err != nil {
				return err
			}
		}
		first := true // a long text is in several entries
		for _, unit := range units {
			found = true
			err := w.change(unit, func(e *Entry) bool {
				if e.Event != event {
					return true
				}
				e.Text = text
				keep := first && text != ""
				first = false
				return keep
			})
			if err != nil {
				return err
			}
		}
		if err := w.dropCopies(event, text == ""); err != nil {
			return err
		}
		if err := w.dropLines(func(l Line) bool { return slices.Contains(strings.Fields(l.Event), event) }); err != nil || !found {
			return err
		}
		if err := w.dropUnused(); err != nil {
			return err
		}
		if _, err := w.exec("INSERT INTO words (words) VALUES ('optimize')"); err != nil {
			return err
		}
		return w.finish()
	})
	if err == nil {
		err = x.saveForgotten(ctx)
	}
	return found, x.failed("change message", err)
}

// dropCopies removes the lines that come from a message from what the index has of the files, which follow later.
func (w *writer) dropCopies(event string, forGood bool) error {
	lines, err := readLines(w.ctx, w.tx, "event <> ''")
	if err != nil {
		return err
	}
	copies := map[string]bool{}
	for _, l := range lines {
		if slices.Contains(strings.Fields(l.Event), event) {
			copies[string(hashOf(l.Text))] = true
		}
	}
	if len(copies) == 0 {
		return nil
	}
	for hash := range copies {
		if !forGood {
			break
		}
		if err := w.forget([]byte(hash)); err != nil { // a file that is being read may have it
			return err
		}
	}
	_, _, err = w.dropEntries(func(e Entry) bool { return e.Event != event && copies[string(hashOf(e.Text))] }, forGood)
	return err
}
