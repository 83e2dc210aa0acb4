package memory

import (
	"context"
	"database/sql"
	"encoding/hex"
	"path/filepath"
	"strings"
	"time"

	"matrix-tui/state/sentence"
)

// Status is what `matrix-tui memory status` shows.
type Status struct {
	Room      string         `json:"room"`
	Bytes     int64          `json:"bytes"` // of text
	Documents int            `json:"documents"`
	Chunks    int            `json:"chunks"`
	Entries   int            `json:"entries"`
	Sources   map[Source]int `json:"sources"` // entries
	Changed   time.Time      `json:"changed"` // the last write; zero if there was none
}

// Status describes the memory of the room.
func (x *Index) Status(ctx context.Context) (Status, error) {
	s := Status{Room: x.Room, Sources: map[Source]int{}}
	var changed int64
	err := x.db.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM document WHERE room = room.id), chunks, bytes, changed
		FROM room WHERE id = ?`, x.room).Scan(&s.Documents, &s.Chunks, &s.Bytes, &changed)
	if err == nil {
		err = each(ctx, x.db, func(rows *sql.Rows) error {
			var source Source
			var n int
			err := rows.Scan(&source, &n)
			s.Sources[source], s.Entries = n, s.Entries+n
			return err
		}, `SELECT source, count(*) FROM document JOIN unit ON unit.document = document.id JOIN chunk ON chunk.unit = unit.id
			JOIN entry ON entry.chunk = chunk.id WHERE document.room = ? GROUP BY source`, x.room)
	}
	s.Changed = timeOf(changed)
	return s, x.failed("read memory status", err)
}

// Read returns the entries of a document that are on some lines, in their order: at most 1,000. It returns ErrNotFound
// if there are none.
func (x *Index) Read(ctx context.Context, path string, from, lines int) (entries []Entry, err error) {
	err = each(ctx, x.db, func(rows *sql.Rows) error {
		e, err := scanEntry(rows)
		entries = append(entries, e)
		return err
	}, "SELECT "+entryColumns+` FROM unit JOIN chunk ON chunk.unit = unit.id JOIN entry ON entry.chunk = chunk.id
		WHERE document = (SELECT id FROM document WHERE room = ? AND path = ? LIMIT 1)
		AND last >= ? AND first < ? ORDER BY first, entry.id LIMIT 1000`, x.room, path, from, from+max(lines, 1))
	if err == nil && len(entries) == 0 {
		return nil, sentence.Newf(ErrNotFound, "There is nothing on these lines of %q.", filepath.Base(path))
	}
	return entries, x.failed("read memory", err)
}

// Entries returns the entries of a result, by its ID; none if there is no such result.
func (x *Index) Entries(ctx context.Context, id string) (all []Entry, err error) {
	key, err := hex.DecodeString(strings.TrimSpace(id))
	if err != nil || len(key) != idBytes {
		return nil, nil
	}
	err = each(ctx, x.db, func(rows *sql.Rows) error {
		e, err := scanEntry(rows)
		all = append(all, e)
		return err
	}, "SELECT "+entryColumns+` FROM chunk JOIN entry ON entry.chunk = chunk.id
		WHERE room = ? AND substr(hash, 1, ?) = ? ORDER BY entry.id`, x.room, idBytes, key)
	return all, x.failed("look up entry", err)
}

// Has reports whether there is a document.
func (x *Index) Has(ctx context.Context, path string) (bool, error) {
	found, err := texts(ctx, x.db, "SELECT path FROM document WHERE room = ? AND path = ?", x.room, path)
	return len(found) > 0, x.failed("look up document", err)
}

const entryColumns = "first, last, entry.time, speaker, text, event"

func scanEntry(rows *sql.Rows, more ...any) (e Entry, err error) {
	var at int64
	err = rows.Scan(append([]any{&e.From, &e.To, &at, &e.Speaker, &e.Text, &e.Event}, more...)...)
	e.Time = timeOf(at)
	return e, err
}

// maxGiven bounds what is known of the results that the sessions of a room were given: the oldest are dropped.
const maxGiven = 2000

// Give records that a session of the agent has been given results, by their IDs. That survives a Rebuild.
func (x *Index) Give(ctx context.Context, session string, ids ...string) error {
	if len(ids) == 0 || session == "" {
		return nil
	}
	return x.write(ctx, "note what was given", func(w *writer) error {
		for _, id := range ids {
			if _, err := w.exec("INSERT INTO given (room, session, key) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
				w.room, session, id); err != nil {
				return err
			}
		}
		_, err := w.exec(`DELETE FROM given WHERE room = ?1 AND id <=
			(SELECT id FROM given WHERE room = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`, w.room, maxGiven)
		return err
	})
}

// Given returns the IDs of the results that a session was given.
func (x *Index) Given(ctx context.Context, session string) (map[string]bool, error) {
	ids, err := texts(ctx, x.db, "SELECT key FROM given WHERE room = ? AND session = ?", x.room, session)
	all := map[string]bool{}
	for _, id := range ids {
		all[id] = true
	}
	return all, x.failed("read what was given", err)
}
