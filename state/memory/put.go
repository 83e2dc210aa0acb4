package memory

import (
	"context"
	"database/sql"
	"slices"
	"strings"
)

// Put stores documents, in place of older versions of them. Only the units that differ are indexed again. It reports
// whether anything has changed. A document without entries is removed. What was forgotten stays forgotten.
func (x *Index) Put(ctx context.Context, docs ...Document) (changed bool, err error) {
	return x.Learn(ctx, docs, nil)
}

// Learn is Put and AddLines in one transaction.
func (x *Index) Learn(ctx context.Context, docs []Document, lines []Line) (changed bool, err error) {
	err = x.inTx(ctx, func(tx *sql.Tx) error {
		w := newWriter(ctx, tx)
		for i := range docs {
			did, err := w.put(&docs[i])
			if err != nil {
				return err
			}
			changed = changed || did
		}
		if err := w.addLines(lines); err != nil || !changed {
			return err
		}
		return w.finish()
	})
	return changed, x.failed("store documents", err)
}

// Sync replaces all documents of a source but those that are kept, and returns how many have changed or are gone.
func (x *Index) Sync(ctx context.Context, source Source, docs []Document) (changed int, err error) {
	err = x.inTx(ctx, func(tx *sql.Tx) error {
		w := newWriter(ctx, tx)
		known, err := texts(ctx, tx, "SELECT path FROM document WHERE source = ? AND origin = ''", source)
		if err != nil {
			return err
		}
		for _, doc := range docs {
			doc.Source = source
			did, err := w.put(&doc)
			if err != nil {
				return err
			}
			if did {
				changed++
			}
			known = slices.DeleteFunc(known, func(path string) bool { return path == doc.Path })
		}
		for _, path := range known {
			if _, err := w.put(&Document{Source: source, Path: path}); err != nil {
				return err
			}
			changed++
		}
		if changed == 0 {
			return nil
		}
		return w.finish()
	})
	return changed, x.failed("store documents", err)
}

// writer changes the index in one transaction.
type writer struct {
	ctx   context.Context
	tx    *sql.Tx
	stems *stemmer
	text  strings.Builder
	stmts map[string]*sql.Stmt
	known *string // the model of the vectors
}

func newWriter(ctx context.Context, tx *sql.Tx) *writer {
	return &writer{ctx: ctx, tx: tx, stems: newStemmer(), stmts: map[string]*sql.Stmt{}}
}

// exec runs a statement that is prepared once; it is closed with the transaction.
func (w *writer) exec(statement string, args ...any) (sql.Result, error) {
	stmt := w.stmts[statement]
	if stmt == nil {
		var err error
		if stmt, err = w.tx.PrepareContext(w.ctx, statement); err != nil {
			return nil, err
		}
		w.stmts[statement] = stmt
	}
	return stmt.ExecContext(w.ctx, args...)
}

func (w *writer) insert(statement string, args ...any) (id int64, err error) {
	res, err := w.exec(statement, args...)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}
