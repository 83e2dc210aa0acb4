package memory

import (
	"context"
	"database/sql"
	"time"
)

// foundUnit is a unit with its chunks.
type foundUnit struct {
	source Source
	path   string
	weight float64
	time   time.Time
	talk   talk // that it is a part of
	chunks []foundChunk
}

// talk identifies a conversation; one that began at 0 is unknown.
type talk struct{ document, began int64 }

type foundChunk struct {
	id       int64
	hash     []byte
	entries  []Entry
	embedded bool    // it has a vector
	near     float64 // how near that is to the query, 0 to 1
}

// load reads units in the given order, until they are enough to rank. With a filter, most of them may be others'.
func (x searcher) load(ctx context.Context, q Query, ids []int64) ([]foundUnit, error) {
	most, atOnce := len(ids), 40
	if q.filtered() {
		most, atOnce = candidates, 160
	}
	var found []foundUnit
	for size := 0; len(ids) > 0 && size < loadBytes && len(found) < most; {
		n := min(len(ids), atOnce)
		some, err := x.loadSome(ctx, q, ids[:n])
		if err != nil {
			return nil, err
		}
		ids = ids[n:]
		for _, u := range some {
			for _, c := range u.chunks {
				for _, e := range c.entries {
					size += len(e.Text)
				}
			}
		}
		found = append(found, some...)
	}
	return found, nil
}

func (x searcher) loadSome(ctx context.Context, q Query, ids []int64) (found []foundUnit, err error) {
	where, args := x.where(q)
	lastUnit, lastChunk := int64(-1), int64(-1)
	err = each(ctx, x.db, func(rows *sql.Rows) error {
		var u foundUnit
		var c foundChunk
		var e Entry
		var unitID, began, at int64
		if err := rows.Scan(&unitID, &u.source, &u.path, &u.weight, &began, &u.talk.document, &u.talk.began,
			&c.id, &c.hash, &e.From, &e.To, &at, &e.Speaker, &e.Text, &e.Event); err != nil {
			return err
		}
		if unitID != lastUnit {
			u.time = timeOf(began)
			found = append(found, u)
		}
		in := &found[len(found)-1]
		if c.id != lastChunk {
			in.chunks = append(in.chunks, c)
		}
		lastUnit, lastChunk = unitID, c.id
		e.Time = timeOf(at)
		last := &in.chunks[len(in.chunks)-1]
		last.entries = append(last.entries, e)
		return nil
	}, `SELECT unit.id, source, path, weight, unit.time, unit.document, session, chunk.id, chunk.hash, first, last,
		entry.time, speaker, text, event
		FROM unit JOIN document ON document.id = unit.document JOIN chunk ON chunk.unit = unit.id
		JOIN entry ON entry.chunk = chunk.id
		WHERE unit.id IN (`+marks(len(ids))+")"+where+" ORDER BY unit.id, chunk.id, entry.id", append(anys(ids), args...)...)
	return found, err
}
