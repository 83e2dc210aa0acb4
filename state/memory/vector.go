package memory

import (
	"context"
	"database/sql"
	"fmt"
	"math"
)

// Dimensions is the length of the vectors that an index keeps.
const Dimensions = 256

// maxVectors is how many chunks of a room have vectors: the newest.
const maxVectors = 40_000

// Vector is the embedding of a text: where it is in the space of a model. The zero value is none.
type Vector struct {
	Model  string
	Values []float32 // Dimensions of them; their length as a vector does not count
}

// Unembedded is the text of a chunk that has no vector yet.
type Unembedded struct {
	Text string
	hash []byte
}

// Unembedded returns texts of chunks without a vector of a model, the newest first and at most n. Vectors of another
// model are dropped. It returns none if the newest chunks have their vectors; then those of texts that have gone are
// dropped.
func (x *Index) Unembedded(ctx context.Context, model string, n int) (all []Unembedded, err error) {
	err = x.write(ctx, "find texts without vectors", func(w *writer) error {
		if all, err = w.unembedded(model, n, maxVectors); err == nil && len(all) == 0 {
			err = w.dropUnused(maxVectors)
		}
		return err
	})
	return all, err
}

// unembedded is Unembedded for the newest chunks: most says how many.
func (w *writer) unembedded(model string, n, most int) (all []Unembedded, err error) {
	if now, err := modelOf(w.ctx, w.tx, w.room); err != nil {
		return nil, err
	} else if now != model {
		_, err := w.exec("DELETE FROM vector WHERE room = ?", w.room)
		if err == nil {
			_, err = w.exec("UPDATE room SET model = ? WHERE id = ?", model, w.room)
		}
		if err == nil {
			err = w.sketch()
		}
		if err != nil {
			return nil, err
		}
	}
	chunks, err := column[int64](w.ctx, w.tx, `SELECT max(id) FROM chunk WHERE room = ?1
		AND id > ifnull((SELECT id FROM chunk WHERE room = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2), 0)
		AND NOT EXISTS (SELECT 1 FROM vector WHERE room = ?1 AND vector.hash = chunk.hash)
		GROUP BY hash ORDER BY 1 DESC LIMIT ?3`, w.room, most, n)
	for _, chunk := range chunks {
		var entries []Entry
		failed := each(w.ctx, w.tx, func(rows *sql.Rows) error {
			e, err := scanEntry(rows)
			entries = append(entries, e)
			return err
		}, "SELECT "+entryColumns+" FROM entry WHERE chunk = ? ORDER BY id", chunk)
		if failed != nil {
			return nil, failed
		}
		text := textOf(entries)
		all = append(all, Unembedded{text, hashOf(text)})
	}
	return all, err
}

// Embed stores the vectors of texts that Unembedded has returned, in the same order. It ignores those that have gone or
// changed since then. It returns an error if there are not as many vectors, or if one of them is of another length.
func (x *Index) Embed(ctx context.Context, model string, of []Unembedded, vectors [][]float32) error {
	if len(vectors) != len(of) {
		return fmt.Errorf("store vectors: there are %d for %d texts", len(vectors), len(of))
	}
	values := make([][]byte, len(of))
	for i, vector := range vectors {
		if values[i] = quantize(vector); values[i] == nil {
			return fmt.Errorf("store vectors: one of %d dimensions, or without a direction", len(vector))
		}
	}
	return x.write(ctx, "store vectors", func(w *writer) error { return w.embed(model, of, values) })
}

// Refuse notes that a model makes no vector of texts that Unembedded has returned: it does not return them again.
func (x *Index) Refuse(ctx context.Context, model string, of []Unembedded) error {
	none := make([][]byte, len(of))
	for i := range none {
		none[i] = []byte{}
	}
	return x.write(ctx, "note texts without vectors", func(w *writer) error { return w.embed(model, of, none) })
}

func (w *writer) embed(model string, of []Unembedded, values [][]byte) error {
	if now, err := modelOf(w.ctx, w.tx, w.room); err != nil || now != model {
		return err
	}
	for i, one := range of {
		if _, err := w.exec(`INSERT OR REPLACE INTO vector (room, hash, value) SELECT ?1, ?2, ?3
			WHERE EXISTS (SELECT 1 FROM chunk WHERE room = ?1 AND hash = ?2)`, w.room, one.hash, values[i]); err != nil {
			return err
		}
	}
	return w.sketch()
}

// dropUnused drops the vectors of texts that are no longer there. Until then, a text that comes back needs no new one.
func (w *writer) dropUnused(most int) error {
	res, err := w.exec(`DELETE FROM vector WHERE room = ?1 AND hash NOT IN
		(SELECT hash FROM chunk WHERE room = ?1 ORDER BY id DESC LIMIT ?2)`, w.room, most)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	return w.sketch()
}

func modelOf(ctx context.Context, q querier, room int64) (string, error) {
	all, err := texts(ctx, q, "SELECT model FROM room WHERE id = ?", room)
	if err != nil || len(all) == 0 {
		return "", err
	}
	return all[0], nil
}

// quantize returns a vector as it is stored: a signed byte for each dimension, the largest of which is 127. It returns
// nil if the vector has another length, or no direction.
func quantize(values []float32) []byte {
	if len(values) != Dimensions {
		return nil
	}
	most := 0.0
	for _, v := range values {
		most = max(most, math.Abs(float64(v)))
	}
	if most == 0 || math.IsInf(most, 0) || math.IsNaN(most) {
		return nil
	}
	out := make([]byte, Dimensions)
	for i, v := range values {
		out[i] = byte(int8(math.Round(float64(v) / most * 127)))
	}
	return out
}

// cosine says how similar two stored vectors are: 1 is the same direction.
func cosine(a, b []byte) float64 {
	if len(a) != Dimensions || len(b) != Dimensions {
		return 0
	}
	var dot, ofA, ofB int
	for i := range a {
		x, y := int(int8(a[i])), int(int8(b[i]))
		dot, ofA, ofB = dot+x*y, ofA+x*x, ofB+y*y
	}
	return float64(dot) / math.Sqrt(max(float64(ofA)*float64(ofB), 1))
}

// Tokens estimates how many tokens a model needs for a text.
func Tokens(text string) int64 { return int64(math.Ceil(tokens(text))) }
