package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"

	"matrix-tui/bot/crash"
	"matrix-tui/state/sqlitefile"
)

// Move gives the memory of a room to its successor. If that has learned something already, it gets what only the old
// index has. It may be repeated after a crash. A room without memory is no error.
func Move(ctx context.Context, dir, from, to string) error {
	if from == to {
		return nil
	}
	if err := copyPostponed(ctx, dir, from, to); err != nil { // before anybody can read the text there
		return err
	}
	if !Exists(dir, from) {
		for _, ext := range []string{PostponedExt, EditsExt} {
			crash.Count("remove moved memory")
			if err := os.Remove(Path(dir, from) + ext); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return explain(fmt.Errorf("move memory: %w", err), Path(dir, to))
			}
		}
		list := sidecar(Path(dir, from))
		if !exists(list) || IsKnown(dir, to) {
			return nil
		}
		crash.Count("rename list of forgotten texts")
		return os.Rename(list, sidecar(Path(dir, to)))
	}
	if Exists(dir, to) {
		if !isCopied(ctx, dir, from, to) { // otherwise a crash has kept Move from removing it
			if err := merge(ctx, dir, from, to); err != nil {
				return explain(fmt.Errorf("move memory: %w", err), Path(dir, to))
			}
		}
		return removeMoved(ctx, dir, from, to)
	}
	x, err := Open(ctx, dir, from)
	if err != nil {
		return err
	}
	target := Path(dir, to)
	building := target + ".moving"
	err = errors.Join(removeDatabase(building), x.copyTo(ctx, building, to), x.Close())
	if err == nil {
		crash.Count("rename moved memory")
		err = os.Rename(building, target)
	}
	if err != nil {
		return explain(fmt.Errorf("move memory: %w", errors.Join(err, removeDatabase(building))), target)
	}
	return removeMoved(ctx, dir, from, to)
}

// removeMoved removes an index that another one continues.
func removeMoved(ctx context.Context, dir, from, to string) error {
	if err := copyPostponed(ctx, dir, from, to); err != nil { // what came meanwhile
		return err
	}
	return Remove(dir, from)
}

// copyTo writes the index to a new file, for another room.
func (x *Index) copyTo(ctx context.Context, path, room string) error {
	if _, err := x.db.ExecContext(ctx, "VACUUM INTO '"+strings.ReplaceAll(path, "'", "''")+"'"); err != nil {
		return err
	}
	db, err := connect(path)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "INSERT OR REPLACE INTO meta (key, value) SELECT 'from', ("+lastState+"); UPDATE meta SET value = ? WHERE key = 'room'", room)
	return errors.Join(err, db.Close(), os.Chmod(path, 0o600))
}

// isCopied reports whether the index of a room was moved to another room as it is now.
func isCopied(ctx context.Context, dir, from, to string) bool {
	query := func(room, query string) string {
		db, err := sqlitefile.Open(Path(dir, room), url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(2000)"}})
		if err != nil {
			return ""
		}
		defer db.Close()
		found, err := texts(ctx, db, query)
		if err != nil || len(found) != 1 {
			return ""
		}
		return found[0]
	}
	now := query(from, lastState)
	return now != "" && now == query(to, "SELECT value FROM meta WHERE key = 'from'")
}

// lastState is the room of an index and its last change.
const lastState = "SELECT (SELECT value FROM meta WHERE key = 'room') || ' ' || (SELECT ifnull(max(time), 0) FROM document)"

// merge adds what only the index of one room has to that of another.
func merge(ctx context.Context, dir, from, to string) error {
	x, err := Open(ctx, dir, from)
	if err != nil {
		return err
	}
	var docs []Document
	err = x.inTx(ctx, func(tx *sql.Tx) (err error) {
		docs, err = newWriter(ctx, tx).keptDocuments()
		return err
	})
	hashes, failed := column[[]byte](ctx, x.db, "SELECT hash FROM forgotten")
	lines, unread := readLines(ctx, x.db, "state <> ?", lineGone)
	if err := errors.Join(err, failed, unread, x.Close()); err != nil {
		return err
	}
	y, err := Open(ctx, dir, to)
	if err != nil {
		return err
	}
	err = y.inTx(ctx, func(tx *sql.Tx) error {
		w := newWriter(ctx, tx)
		if err := w.forgetAll(hashes); err != nil {
			return err
		}
		for _, doc := range docs {
			if err := w.add(doc); err != nil {
				return err
			}
		}
		if err := w.addLines(lines); err != nil {
			return err
		}
		return w.finish()
	})
	if err == nil && len(hashes) > 0 {
		err = y.saveForgotten(ctx)
	}
	return errors.Join(err, y.Close())
}

// forgetAll removes what another index has forgotten.
func (w *writer) forgetAll(hashes [][]byte) error {
	if len(hashes) == 0 {
		return nil
	}
	gone := Forgotten{}
	for _, hash := range hashes {
		gone[string(hash)] = true
		if err := w.forget(hash); err != nil {
			return err
		}
	}
	is := func(e Entry) bool { return gone.Event(e.Event) || gone[string(hashOf(e.Text))] }
	if _, _, err := w.dropEntries(is, false); err != nil {
		return err
	}
	if err := w.dropLines(func(l Line) bool {
		return gone[string(hashOf(l.Text))] || slices.ContainsFunc(strings.Fields(l.Event), gone.Event)
	}); err != nil {
		return err
	}
	return w.dropUnused()
}

// add stores a document that is not there yet, or the notes that are not.
func (w *writer) add(doc Document) error {
	there, err := w.entries("SELECT first, last, entry.time, speaker, text, event FROM entry JOIN document ON document.id = entry.document WHERE source = ? AND path = ? ORDER BY entry.id", doc.Source, doc.Path)
	if err != nil || len(there) > 0 && doc.Source != SourceNote {
		return err
	}
	known := map[string]bool{}
	for _, e := range doc.Entries {
		known[string(hashOf(e.Text))] = true
	}
	for _, e := range there { // the newer ones
		if !known[string(hashOf(e.Text))] {
			doc.Entries = append(doc.Entries, e)
		}
	}
	for i := range doc.Entries {
		if doc.Source == SourceNote {
			doc.Entries[i].From, doc.Entries[i].To = i+1, i+1
		}
	}
	alone(&doc)
	_, err = w.put(&doc)
	return err
}
