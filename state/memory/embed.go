package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Unembedded is the text of a chunk that has no vector yet.
type Unembedded struct {
	Text  string
	chunk int64
}

// Unembedded returns texts of chunks without a vector of a model, the newest first and at most n. Vectors of another model
// are dropped. It returns none if the index is full, or if the newest chunks have their vectors.
func (x *Index) Unembedded(ctx context.Context, model string, n int) (all []Unembedded, err error) {
	err = x.inTx(ctx, func(tx *sql.Tx) error {
		w := newWriter(ctx, tx)
		if err := w.useModel(model); err != nil {
			return err
		}
		if used, err := w.used(); err != nil || used >= nearlyFull {
			return err
		}
		all, err = w.unembedded(n, maxVectors)
		return err
	})
	return all, x.failed("find texts without vectors", err)
}

// unembedded gives chunks the vectors that their texts have already, and returns others. Only the newest chunks have
// one: most says how many.
func (w *writer) unembedded(n, most int) (all []Unembedded, err error) {
	oldest, err := w.nthNewest(most)
	if err != nil {
		return nil, err
	}
	if _, err := w.exec("DELETE FROM embedded WHERE chunk < ?", oldest); err != nil {
		return nil, err
	}
	var chunks, embedded int
	if err := w.tx.QueryRowContext(w.ctx, "SELECT (SELECT count(*) FROM chunk), (SELECT count(*) FROM embedded)").Scan(&chunks, &embedded); err != nil {
		return nil, err
	}
	if embedded >= min(chunks, most) {
		return nil, nil
	}
	seen := map[string]bool{}
	for before := int64(1) << 62; len(all) < n; {
		ids, err := numbers(w.ctx, w.tx, `SELECT id FROM chunk WHERE id < ? AND id >= ?
			AND NOT EXISTS (SELECT 1 FROM embedded WHERE embedded.chunk = chunk.id) ORDER BY id DESC LIMIT ?`, before, oldest, n)
		if err != nil || len(ids) == 0 {
			return all, err
		}
		before = ids[len(ids)-1]
		for _, id := range ids {
			text, err := w.chunkText(id)
			if err != nil {
				return nil, err
			}
			hit, err := w.attach(id, text)
			if err != nil {
				return nil, err
			}
			if !hit && !seen[text] && len(all) < n {
				seen[text] = true
				all = append(all, Unembedded{text, id})
			}
		}
	}
	return all, nil
}

// Embed stores the vectors of texts that Unembedded has returned, in the same order. It ignores those whose chunk has gone
// or changed since then. It returns an error if there are not as many vectors, or if one of them is of another length.
func (x *Index) Embed(ctx context.Context, model string, of []Unembedded, vectors [][]float32) error {
	if len(vectors) != len(of) {
		return fmt.Errorf("store vectors: there are %d for %d texts", len(vectors), len(of))
	}
	err := x.inTx(ctx, func(tx *sql.Tx) error {
		w := newWriter(ctx, tx)
		if now, err := w.model(); err != nil || now != model {
			return err
		}
		for i, one := range of {
			value := quantize(vectors[i])
			if value == nil {
				return fmt.Errorf("vector of %d dimensions, or without a direction", len(vectors[i]))
			}
			if err := w.embed(one, value); err != nil {
				return err
			}
		}
		return w.makeRoom(nearlyFull)
	})
	return x.failed("store vectors", err)
}

// Refuse notes that a model makes no vector of texts that Unembedded has returned: it does not return them again. It
// ignores those whose chunk has gone or changed since then.
func (x *Index) Refuse(ctx context.Context, model string, of []Unembedded) error {
	err := x.inTx(ctx, func(tx *sql.Tx) error {
		w := newWriter(ctx, tx)
		if now, err := w.model(); err != nil || now != model {
			return err
		}
		for _, one := range of {
			text, err := w.chunkText(one.chunk)
			if err == nil && text == one.Text {
				_, err = w.exec("INSERT OR REPLACE INTO embedded (chunk, vector) VALUES (?, ?)", one.chunk, noVector)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return x.failed("note texts without vectors", err)
}

// embed stores one vector.
func (w *writer) embed(of Unembedded, value []byte) error {
	text, err := w.chunkText(of.chunk)
	if err != nil || text != of.Text { // it was forgotten, or replaced
		return err
	}
	if hit, err := w.attach(of.chunk, text); err != nil || hit {
		return err
	}
	model, err := w.model()
	if err != nil {
		return err
	}
	id, err := w.insert("INSERT INTO vector (hash, value) VALUES (?, ?)", vectorHash(model, text), value)
	if err != nil {
		return err
	}
	if err := w.setSketch(id, sketchOf(value).bytes()); err != nil {
		return err
	}
	_, err = w.exec("INSERT OR REPLACE INTO embedded (chunk, vector) VALUES (?, ?)", of.chunk, id)
	return err
}

// attach gives a chunk the vector of its text, if there is one.
func (w *writer) attach(chunk int64, text string) (hit bool, err error) {
	model, err := w.model()
	if err != nil || model == "" {
		return false, err
	}
	res, err := w.exec("INSERT OR REPLACE INTO embedded (chunk, vector) SELECT ?, id FROM vector WHERE hash = ?", chunk, vectorHash(model, text))
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n > 0, err
}

// chunkText returns the text of a chunk as it is embedded; "" if there is no such chunk.
func (w *writer) chunkText(chunk int64) (string, error) {
	entries, err := w.entries("SELECT first, last, time, speaker, text, event FROM entry WHERE chunk = ? ORDER BY id", chunk)
	return textOf(entries), err
}

// model returns the model of the vectors, "" if there are none.
func (w *writer) model() (string, error) {
	if w.known == nil {
		model, err := modelOf(w.ctx, w.tx)
		if err != nil {
			return "", err
		}
		w.known = &model
	}
	return *w.known, nil
}

func modelOf(ctx context.Context, q querier) (string, error) {
	all, err := texts(ctx, q, "SELECT value FROM meta WHERE key = 'model'")
	if err != nil || len(all) == 0 {
		return "", err
	}
	return all[0], nil
}

// useModel drops the vectors of any other model.
func (w *writer) useModel(model string) error {
	if now, err := w.model(); err != nil || now == model {
		return err
	}
	if err := w.dropVectors(); err != nil {
		return err
	}
	_, err := w.exec("INSERT INTO meta (key, value) VALUES ('model', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", model)
	w.known = &model
	return err
}

// dropVectors drops all vectors.
func (w *writer) dropVectors() error {
	for _, statement := range []string{"DELETE FROM embedded", "DELETE FROM vector", "DELETE FROM sketch"} {
		if _, err := w.exec(statement); err != nil {
			return err
		}
	}
	return nil
}

// nthNewest returns the nth chunk from the end, 0 if there are fewer.
func (w *writer) nthNewest(n int) (chunk int64, err error) {
	err = w.tx.QueryRowContext(w.ctx, "SELECT id FROM chunk ORDER BY id DESC LIMIT 1 OFFSET ?", n-1).Scan(&chunk)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return chunk, err
}

// DropUnused drops the vectors of texts that are no longer there. Until then, a text that comes back needs no new one.
func (x *Index) DropUnused(ctx context.Context) error {
	err := x.inTx(ctx, func(tx *sql.Tx) error { return newWriter(ctx, tx).dropUnused() })
	return x.failed("drop vectors", err)
}

func (w *writer) dropUnused() error {
	unused, err := numbers(w.ctx, w.tx, "SELECT id FROM vector EXCEPT SELECT vector FROM embedded")
	if err != nil {
		return err
	}
	for _, id := range unused {
		if _, err := w.exec("DELETE FROM vector WHERE id = ?", id); err != nil {
			return err
		}
		if err := w.setSketch(id, make([]byte, sketchBytes)); err != nil {
			return err
		}
	}
	return nil
}

// setSketch stores the sketch of a vector; zeros are none.
func (w *writer) setSketch(id int64, sketch []byte) error {
	block, at := id/perBlock, id%perBlock*sketchBytes
	signs := make([]byte, perBlock*sketchBytes)
	var now []byte
	err := w.tx.QueryRowContext(w.ctx, "SELECT signs FROM sketch WHERE block = ?", block).Scan(&now)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	copy(signs, now)
	copy(signs[at:], sketch)
	_, err = w.exec("INSERT INTO sketch (block, signs) VALUES (?, ?) ON CONFLICT (block) DO UPDATE SET signs = excluded.signs", block, signs)
	return err
}
