package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"matrix-tui/state/sqlitefile"
)

// Folder had an index for each room before all shared one. Remove this file two releases after the first one.
const Folder = "memory"

// Old is what only the index of a room had until then.
type Old struct {
	Room      string
	Documents []Document // notes, whose kind is their path, and imports, whose path is their file
	Forgotten []string   // hashes of texts that must not be learned again, in hexadecimal
}

// TakeOld gives away what the old indexes have, one by one, and removes those that keep has stored. One that cannot be
// read stays, and is an error.
func TakeOld(ctx context.Context, dir string, keep func(Old) error) (err error) {
	files, failed := filepath.Glob(filepath.Join(dir, Folder, "*.db"))
	for _, file := range files {
		old, unread := readOld(ctx, file)
		if unread == nil {
			unread = keep(old)
		}
		if unread != nil {
			err = errors.Join(err, fmt.Errorf("take over %s: %w", file, unread))
			continue
		}
		rest, _ := filepath.Glob(strings.TrimSuffix(file, ".db") + ".*") // the file itself sorts before its WAL
		for i := len(rest) - 1; i >= 0; i-- {
			err = errors.Join(err, os.Remove(rest[i]))
		}
	}
	if err == nil {
		_ = os.Remove(filepath.Join(dir, Folder, "lock"))
		_ = os.Remove(filepath.Join(dir, Folder)) // if nothing else is left
	}
	return errors.Join(err, failed)
}

func readOld(ctx context.Context, file string) (old Old, err error) {
	db, err := sqlitefile.Open(file, url.Values{"_pragma": {"busy_timeout(2000)", "query_only(1)"}})
	if err != nil {
		return old, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'room'").Scan(&old.Room); err != nil {
		return old, err
	}
	if old.Forgotten, err = texts(ctx, db, "SELECT lower(hex(hash)) FROM forgotten ORDER BY hash"); err != nil {
		return old, err
	}
	last := int64(-1)
	err = each(ctx, db, func(rows *sql.Rows) error {
		var doc Document
		var id int64
		e, err := scanEntry(rows, &id, &doc.Source, &doc.Path)
		if id != last {
			old.Documents = append(old.Documents, doc)
		}
		last = id
		in := &old.Documents[len(old.Documents)-1]
		in.Entries = append(in.Entries, e)
		return err
	}, "SELECT "+entryColumns+`, document.id, source, origin FROM entry JOIN document ON document.id = entry.document
		WHERE origin <> '' AND source IN (?, ?) ORDER BY document.id, entry.id`, SourceNote, SourceImport)
	return old, err
}
