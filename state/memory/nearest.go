package memory

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
)

// What a score consists of where there are vectors, as in the first design of this memory.
const (
	vectorPart = 0.7
	textPart   = 0.3
)

const (
	sketched = 300 // vectors whose sketches are the nearest, and that are compared
	nearest  = 40  // units that are ranked because of their vectors
	// leastNear is how near they have to be.
	leastNear = 0.1
)

// near is the query as a vector.
type near struct {
	value []byte
	floor float64 // the similarity that counts as 0
}

// score is 1 for the same direction.
func (n near) score(value []byte) float64 {
	return max(0, (cosine(n.value, value)-n.floor)/(1-n.floor))
}

// nearest finds the units that are nearest to a query, the nearest first. n is nil if the query has no vector, or the
// index none of its model.
func (x *Index) nearest(ctx context.Context, q Query) (n *near, units []int64, err error) {
	value := quantize(q.Vector.Values)
	if value == nil {
		return nil, nil, nil
	}
	if model, err := modelOf(ctx, x.db); err != nil || model != q.Vector.Model {
		return nil, nil, err
	}
	most := sketched
	if q.filtered() {
		most *= 4 // some will be filtered out
	}
	ids, floor, err := x.sketched(ctx, sketchOf(value), most)
	if err != nil || len(ids) == 0 {
		return nil, nil, err
	}
	n = &near{value: value, floor: floor}
	units, err = x.compare(ctx, q, n, ids)
	return n, units, err
}

// sketched returns the vectors with the nearest sketches, and what is no similarity.
func (x *Index) sketched(ctx context.Context, wanted sketch, most int) (ids []int64, floor float64, err error) {
	rows, err := x.db.QueryContext(ctx, "SELECT block, signs FROM sketch")
	if err != nil {
		return nil, 0, err
	}
	near := newClosest(most)
	for rows.Next() {
		var block int64
		var signs sql.RawBytes
		if err = rows.Scan(&block, &signs); err != nil {
			break
		}
		for i := range int64(len(signs) / sketchBytes) {
			if distance, ok := wanted.distance(signs[i*sketchBytes:]); ok {
				near.add(block*perBlock+i, distance)
			}
		}
	}
	if err := errors.Join(err, rows.Err(), rows.Close()); err != nil {
		return nil, 0, err
	}
	return near.ids(), near.average(), nil
}

// compare returns the units of vectors that are nearest.
func (x *Index) compare(ctx context.Context, q Query, n *near, ids []int64) ([]int64, error) {
	where, args := q.where()
	rows, err := x.db.QueryContext(ctx, `SELECT value, unit FROM vector JOIN embedded ON embedded.vector = vector.id JOIN chunk ON chunk.id = embedded.chunk
		JOIN unit ON unit.id = chunk.unit JOIN document ON document.id = unit.document
		WHERE vector.id IN (`+marks(len(ids))+")"+where+" LIMIT 4000", append(anys(ids), args...)...)
	if err != nil {
		return nil, err
	}
	best := map[int64]float64{}
	for rows.Next() {
		var value sql.RawBytes
		var unit int64
		if err = rows.Scan(&value, &unit); err != nil {
			break
		}
		best[unit] = max(best[unit], n.score(value))
	}
	if err := errors.Join(err, rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	var units []int64
	for unit, score := range best {
		if score >= leastNear {
			units = append(units, unit)
		}
	}
	slices.SortFunc(units, func(a, b int64) int { return cmp.Or(cmp.Compare(best[b], best[a]), cmp.Compare(b, a)) })
	return units[:min(len(units), nearest)], nil
}

// measure adds to chunks how near they are.
func (x *Index) measure(ctx context.Context, n *near, found []foundUnit) error {
	chunks := map[int64]*foundChunk{}
	var ids []int64
	for i := range found {
		for j := range found[i].chunks {
			c := &found[i].chunks[j]
			chunks[c.id] = c
			ids = append(ids, c.id)
		}
	}
	for part := range slices.Chunk(ids, 500) {
		rows, err := x.db.QueryContext(ctx, "SELECT chunk, value FROM embedded JOIN vector ON vector.id = embedded.vector WHERE chunk IN ("+marks(len(part))+")", anys(part)...)
		if err != nil {
			return err
		}
		for rows.Next() {
			var id int64
			var value sql.RawBytes
			if err = rows.Scan(&id, &value); err != nil {
				break
			}
			chunks[id].embedded, chunks[id].near = true, n.score(value)
		}
		if err := errors.Join(err, rows.Err(), rows.Close()); err != nil {
			return err
		}
	}
	return nil
}

// merge makes the score of a unit what its text and its vectors say. A chunk that has no vector yet is judged by its text
// alone.
func (r *ranker) merge(s *scored) {
	text, top := min(s.score/r.best, 1), 0.0
	for i, c := range s.chunks {
		part := text * s.shares[i]
		if c.embedded {
			part = textPart*part + vectorPart*c.near
		}
		s.shares[i] = part
		if part > top {
			top, s.best = part, i
		}
	}
	for i := range s.shares {
		s.shares[i] /= max(top, 1e-9)
	}
	s.score = top * r.best
}

// interleave merges two lists, without doubles.
func interleave(a, b []int64) []int64 {
	seen := map[int64]bool{}
	var out []int64
	for i := range max(len(a), len(b)) {
		for _, list := range [][]int64{a, b} {
			if i < len(list) && !seen[list[i]] {
				seen[list[i]] = true
				out = append(out, list[i])
			}
		}
	}
	return out
}

// marks returns n question marks for a query.
func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?,", n), ",") }

func anys[T any](all []T) []any {
	out := make([]any, len(all))
	for i, one := range all {
		out[i] = one
	}
	return out
}
