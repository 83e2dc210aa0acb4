package memory

import (
	"context"
	"database/sql"
	"errors"
	"slices"
)

// batch is how many documents Rebuild stores at once: others can write in between, and what is stored stays if it is
// interrupted.
const batch = 50

// Doubt says that the record changes, or has changed: the room is Unfilled, and what somebody has read of the record
// until now cannot be stored any more. Call it before the change, or a crash in between leaves what was there, and
// after it.
func (x *Index) Doubt(ctx context.Context) error {
	err := x.db.QueryRowContext(ctx, "UPDATE room SET filled = 0, doubts = doubts + 1 WHERE id = ? RETURNING doubts",
		x.room).Scan(&x.doubts)
	x.unfilled = x.unfilled || err == nil
	return x.failed("doubt memory", err)
}

// Rebuild makes documents all that the index has of the room. Those that it has already stay, with their vectors. If
// not all have room, it stores the others and returns ErrFull. It returns ErrDoubt if somebody has doubted the room
// since Open.
func (x *Index) Rebuild(ctx context.Context, docs ...Document) error {
	stored, err := x.documents(ctx, "hash")
	if err != nil {
		return err
	}
	known := len(stored) > 0 || x.doubts > 0
	var come []Document
	for _, doc := range docs {
		hash := string(doc.tidy())
		switch {
		case doc.Same, stored[doc.Path] == hash:
			delete(stored, doc.Path)
		case len(doc.Entries) > 0:
			come = append(come, doc)
		}
	}
	err = x.write(ctx, "rebuild memory", func(w *writer) error {
		for path := range stored { // also what comes in another version
			if err := w.putOne(&Document{Path: path}); err != nil {
				return err
			}
		}
		return nil
	})
	var full error
	for some := range slices.Chunk(come, batch) {
		if err == nil {
			err = x.Put(ctx, some...)
		}
		if errors.Is(err, ErrFull) {
			err, full = nil, err
		}
	}
	if err == nil {
		err = x.write(ctx, "rebuild memory", func(w *writer) error { return w.dropUnused(maxVectors) })
	}
	if err == nil && known {
		err = x.failed("wipe memory", wipe(ctx, x.db))
	}
	if err == nil {
		err = x.write(ctx, "rebuild memory", func(w *writer) error {
			_, err := w.exec("UPDATE room SET filled = 1 WHERE id = ?", w.room)
			return err
		})
	}
	x.unfilled = x.unfilled && err != nil
	return errors.Join(err, full)
}

// Origins returns the Origin of each document by its path.
func (x *Index) Origins(ctx context.Context) (map[string]string, error) {
	return x.documents(ctx, "origin")
}

// documents returns a column of the documents by their paths.
func (x *Index) documents(ctx context.Context, column string) (map[string]string, error) {
	all := map[string]string{}
	err := each(ctx, x.db, func(rows *sql.Rows) error {
		var path, value string
		err := rows.Scan(&path, &value)
		all[path] = value
		return err
	}, "SELECT path, "+column+" FROM document WHERE room = ?", x.room)
	return all, x.failed("read memory", err)
}

// wipe removes what deleted texts leave in the file.
func wipe(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, "INSERT INTO words (words) VALUES ('optimize')") // the stems stay until then
	if err == nil {
		_, err = db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	}
	return err
}
