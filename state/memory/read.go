package memory

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"
)

// Status is what `matrix-tui memory status` shows.
type Status struct {
	Room      string         `json:"room"`
	File      string         `json:"file"`
	Bytes     int64          `json:"bytes"` // with the WAL
	Documents int            `json:"documents"`
	Chunks    int            `json:"chunks"`
	Entries   int            `json:"entries"`
	Forgotten int            `json:"forgotten"`
	Sources   map[Source]int `json:"sources"` // entries
	Changed   time.Time      `json:"changed"` // the last write; zero if there was none
}

// Status describes the index.
func (x *Index) Status(ctx context.Context) (Status, error) {
	s := Status{Room: x.room, File: x.path, Sources: map[Source]int{}}
	var changed int64
	err := x.db.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM document), (SELECT count(*) FROM chunk), (SELECT count(*) FROM entry),
		(SELECT count(*) FROM forgotten), (SELECT ifnull(max(time), 0) FROM document)`).Scan(&s.Documents, &s.Chunks, &s.Entries, &s.Forgotten, &changed)
	if err != nil {
		return s, x.failed("read memory status", err)
	}
	s.Changed = timeOf(changed)
	rows, err := x.db.QueryContext(ctx, "SELECT source, count(*) FROM entry JOIN document ON document.id = entry.document GROUP BY source")
	if err != nil {
		return s, x.failed("read memory status", err)
	}
	for rows.Next() {
		var source Source
		var n int
		if err = rows.Scan(&source, &n); err != nil {
			break
		}
		s.Sources[source] = n
	}
	for _, name := range []string{x.path, x.path + "-wal"} {
		if info, err := os.Stat(name); err == nil {
			s.Bytes += info.Size()
		}
	}
	return s, x.failed("read memory status", errors.Join(err, rows.Err(), rows.Close()))
}

// Newest returns what was remembered last, the newest first, of these sources, or of all. Max is 1 to MaxHits.
func (x *Index) Newest(ctx context.Context, most int, sources ...Source) ([]Hit, error) {
	most = max(1, min(most, MaxHits))
	query, args := "SELECT id FROM unit", []any{}
	if len(sources) > 0 {
		query += " WHERE document IN (SELECT id FROM document WHERE source IN (?" + strings.Repeat(", ?", len(sources)-1) + "))"
	}
	for _, source := range sources {
		args = append(args, source)
	}
	ids, err := numbers(ctx, x.db, query+" ORDER BY until DESC, id DESC LIMIT ?", append(args, most*8)...)
	if err != nil {
		return nil, x.failed("list memory", err)
	}
	found, err := x.load(ctx, Query{Sources: sources}, ids)
	if err != nil {
		return nil, x.failed("list memory", err)
	}
	byTime(found)
	var hits []Hit
	for _, u := range found {
		for i := len(u.chunks) - 1; i >= 0 && len(hits) < most; i-- {
			hits = append(hits, scored{foundUnit: u}.hit(i, 0))
		}
	}
	return hits, nil
}

// Read returns the entries of a document that are on some lines, in their order: at most 1,000. It returns ErrNotFound if
// there are none.
func (x *Index) Read(ctx context.Context, path string, from, lines int) (entries []Entry, err error) {
	rows, err := x.db.QueryContext(ctx, `SELECT first, last, time, speaker, text, event FROM entry WHERE document = (SELECT id FROM document WHERE path = ? LIMIT 1)
		AND last >= ? AND first < ? ORDER BY first, entry.id LIMIT 1000`, path, from, from+max(lines, 1))
	if err != nil {
		return nil, x.failed("read memory", err)
	}
	for rows.Next() {
		var e Entry
		var at int64
		if err = rows.Scan(&e.From, &e.To, &at, &e.Speaker, &e.Text, &e.Event); err != nil {
			break
		}
		if e.Time = timeOf(at); !x.hidden.has(e) {
			entries = append(entries, e)
		}
	}
	if err := errors.Join(err, rows.Err(), rows.Close()); err != nil {
		return nil, x.failed("read memory", err)
	}
	if len(entries) == 0 {
		return nil, notFound("There is nothing on these lines of %q.", path)
	}
	return entries, nil
}
