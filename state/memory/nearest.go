package memory

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
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

// nearest finds the units that are nearest to a query, the nearest first. n is nil if the query has no vector, or the
// room none of its model.
func (x searcher) nearest(ctx context.Context, q Query) (n *near, units []int64, err error) {
	value := quantize(q.Vector.Values)
	if value == nil {
		return nil, nil, nil
	}
	if model, err := modelOf(ctx, x.db, x.room); err != nil || model != q.Vector.Model {
		return nil, nil, err
	}
	most := sketched
	if q.filtered() {
		most *= 4 // some will be filtered out
	}
	hashes, floor, err := x.sketched(ctx, sketchOf(value), most)
	if err != nil || len(hashes) == 0 {
		return nil, nil, err
	}
	n = &near{value: value, floor: floor}
	best := map[int64]float64{}
	where, args := x.where(q)
	err = x.compare(ctx, n, func(_, unit int64, score float64) {
		if score >= leastNear && score > best[unit] {
			best[unit] = score
		}
	}, "vector.hash IN ("+marks(len(hashes))+")"+where, append(anys(hashes), args...)...)
	units = slices.Collect(maps.Keys(best))
	slices.SortFunc(units, func(a, b int64) int { return cmp.Or(cmp.Compare(best[b], best[a]), cmp.Compare(b, a)) })
	return n, units[:min(len(units), nearest)], err
}

// measure adds to chunks how near they are.
func (x searcher) measure(ctx context.Context, n *near, found []foundUnit) error {
	chunks := map[int64]*foundChunk{}
	for i := range found {
		for j := range found[i].chunks {
			chunks[found[i].chunks[j].id] = &found[i].chunks[j]
		}
	}
	for part := range slices.Chunk(slices.Collect(maps.Keys(chunks)), 500) {
		err := x.compare(ctx, n, func(chunk, _ int64, score float64) {
			chunks[chunk].embedded, chunks[chunk].near = true, score
		}, "document.room = ? AND chunk.id IN ("+marks(len(part))+")", append([]any{x.room}, anys(part)...)...)
		if err != nil {
			return err
		}
	}
	return nil
}

// compare says how near the vectors of some chunks are: 1 is the same direction.
func (x searcher) compare(ctx context.Context, n *near, is func(chunk, unit int64, score float64), where string,
	args ...any,
) error {
	return each(ctx, x.db, func(rows *sql.Rows) error {
		var chunk, unit int64
		var value sql.RawBytes
		err := rows.Scan(&chunk, &unit, &value)
		if len(value) > 0 {
			is(chunk, unit, max(0, (cosine(n.value, value)-n.floor)/(1-n.floor)))
		}
		return err
	}, `SELECT chunk.id, unit, value FROM vector JOIN chunk ON chunk.room = vector.room AND chunk.hash = vector.hash
		JOIN unit ON unit.id = chunk.unit JOIN document ON document.id = unit.document
		WHERE vector.room = document.room AND `+where+" LIMIT 4000", args...)
}

// merge makes the score of a unit what its text and its vectors say. A chunk that has no vector yet is judged by its
// text alone.
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
func interleave(a, b []int64) (out []int64) {
	for i := range max(len(a), len(b)) {
		for _, list := range [][]int64{a, b} {
			if i < len(list) && !slices.Contains(out, list[i]) {
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
