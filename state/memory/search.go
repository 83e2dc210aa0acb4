package memory

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	candidates = 80        // chunks that the index finds for ranking
	loadBytes  = 240 << 10 // of the units that are ranked
	rarePosts  = 2000      // chunks that BM25 looks at
)

// Hit is a chunk that a search has found.
type Hit struct {
	ID     string    `json:"id"`     // see Entries
	Score  float64   `json:"score"`  // about 0 to 1
	Source Source    `json:"source"` // of the document
	Path   string    `json:"path"`   // of the document
	From   int       `json:"from"`   // lines of the document
	To     int       `json:"to"`
	Time   time.Time `json:"time"` // of the first entry; zero if unknown
	Text   string    `json:"text"` // the entries, one per line, with their speakers
}

// Search finds what fits a query, best first: one chunk of each unit, and others only if there are too few. It returns
// nothing for a query that has no word in common with the memory, unless it has a vector.
func (x *Index) Search(ctx context.Context, q Query) ([]Hit, error) {
	hits, err := searcher{x.db, x.room}.search(ctx, q)
	return hits, x.failed("search memory", err)
}

// searcher searches what the index has of a room.
type searcher struct {
	db   *sql.DB
	room int64
}

func (x searcher) search(ctx context.Context, q Query) ([]Hit, error) {
	if q.Now.IsZero() {
		q.Now = time.Now()
	}
	if q.Max <= 0 {
		q.Max = 5
	}
	q.Max = min(q.Max, MaxHits)
	terms, unknown, err := x.terms(ctx, parse(q.Text))
	if err != nil {
		return nil, err
	}
	when := spans(q.Text, q.Now)
	near, units, err := x.nearest(ctx, q)
	if err != nil {
		return nil, err
	}
	if len(terms) == 0 && len(when) == 0 && len(units) == 0 {
		return nil, nil
	}
	ids, err := x.candidates(ctx, q, terms, when)
	if err != nil {
		return nil, err
	}
	found, err := x.load(ctx, q, interleave(ids, units))
	if err != nil {
		return nil, err
	}
	if near != nil {
		if err := x.measure(ctx, near, found); err != nil {
			return nil, err
		}
	}
	var chunks int
	if err := x.db.QueryRowContext(ctx, "SELECT chunks FROM room WHERE id = ?", x.room).Scan(&chunks); err != nil {
		return nil, err
	}
	r := newRanker(terms, unknown, chunks, when, q.Now)
	r.near, r.best = near != nil, max(r.best, 1e-9)
	return choose(r.rank(found), q), nil
}

// candidates returns the units that may fit, the most likely first.
func (x searcher) candidates(ctx context.Context, q Query, terms []term, when []span) ([]int64, error) {
	limit := candidates
	if q.filtered() {
		limit *= 8 // some will be filtered out
	}
	var ids []int64
	add := func(query string, args ...any) error {
		more, err := column[int64](ctx, x.db, query, args...)
		for _, id := range more {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		return err
	}
	const found = `SELECT unit FROM (SELECT rowid FROM words WHERE words MATCH ? ORDER BY %s LIMIT ?) AS found
		CROSS JOIN chunk ON chunk.id = found.rowid WHERE room = ?` // in this order
	best, newest := fmt.Sprintf(found, "rank"), fmt.Sprintf(found, "rowid DESC")
	rare, common := byCost(terms)
	if len(rare) > 0 {
		if err := add(best, x.match(rare, " OR "), limit, x.room); err != nil {
			return nil, err
		}
	}
	if len(common) > 1 {
		if err := add(newest, x.match(common[:min(len(common), 4)], " AND "), limit/2, x.room); err != nil {
			return nil, err
		}
	}
	if len(common) > 0 && len(ids) < limit/2 {
		if err := add(newest, x.match(common[:1], ""), limit/2, x.room); err != nil {
			return nil, err
		}
	}
	for _, s := range when {
		from, to, ok := s.days()
		if !ok {
			continue
		}
		if err := add("SELECT id FROM unit WHERE room = ? AND time >= ? AND time < ? ORDER BY time LIMIT 40",
			x.room, nanos(from), nanos(to)); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// byCost divides terms, the rarest first, into those that BM25 can look at, and those that are too common.
func byCost(terms []term) (rare, common []term) {
	posts := 0
	for i, t := range terms {
		if posts += t.docs; posts > rarePosts {
			return terms[:i], terms[i:]
		}
	}
	return terms, nil
}

// match is a query for FTS5. Stems consist of letters and digits only, and are quoted.
func (x searcher) match(terms []term, operator string) string {
	var all []string
	for _, t := range terms {
		var alternatives []string
		for _, stem := range t.stems {
			alternatives = append(alternatives, `"`+stemIn(x.room, stem)+`"`)
		}
		all = append(all, "("+strings.Join(alternatives, " OR ")+")")
	}
	return strings.Join(all, operator)
}

// days returns the time that a span with a known day or year covers, with what is said shortly after it.
func (s span) days() (from, to time.Time, ok bool) {
	switch {
	case !s.from.IsZero():
		return s.from, s.to, true
	case s.year == 0:
		return from, to, false
	case s.day != 0:
		from = time.Date(s.year, s.month, s.day, 0, 0, 0, 0, time.UTC)
		return from, from.AddDate(0, 0, 15), true
	}
	from = time.Date(s.year, s.month, 1, 0, 0, 0, 0, time.UTC)
	return from, from.AddDate(0, 1, 10), true
}
