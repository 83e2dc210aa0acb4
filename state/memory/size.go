package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// finish makes room if the index has become too large, and counts the chunks.
func (w *writer) finish() error {
	if err := w.makeRoom(nearlyFull); err != nil {
		return err
	}
	_, err := w.exec("UPDATE meta SET value = (SELECT count(*) FROM chunk) WHERE key = 'chunks'")
	return err
}

// nearlyFull is the size from which on something is removed.
const nearlyFull = MaxIndex / 10 * 9

// makeRoom removes the oldest units that can be read again from their files while the index has at least full bytes, and
// then the vectors.
func (w *writer) makeRoom(full int64) error {
	for range 100 {
		if used, err := w.used(); err != nil || used < full {
			return err
		}
		oldest, err := numbers(w.ctx, w.tx, `SELECT unit.id FROM unit JOIN document ON document.id = unit.document
			WHERE source IN (?, ?) ORDER BY unit.time, unit.id LIMIT 200`, SourceTranscript, SourceExecution)
		if err != nil {
			return err
		}
		if len(oldest) == 0 {
			return w.dropVectors()
		}
		for _, unit := range oldest {
			if err := w.dropUnit(unit); err != nil {
				return err
			}
		}
	}
	return nil
}

// used returns how many bytes the index takes.
func (w *writer) used() (bytes int64, err error) {
	err = w.tx.QueryRowContext(w.ctx, "SELECT (SELECT page_count FROM pragma_page_count) - (SELECT freelist_count FROM pragma_freelist_count)").Scan(&bytes)
	return bytes * pageSize, err
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func numbers(ctx context.Context, q querier, query string, args ...any) ([]int64, error) {
	return column[int64](ctx, q, query, args...)
}

func texts(ctx context.Context, q querier, query string, args ...any) ([]string, error) {
	return column[string](ctx, q, query, args...)
}

// column reads the only column of a query.
func column[T any](ctx context.Context, q querier, query string, args ...any) (all []T, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	for rows.Next() {
		var one T
		if err = rows.Scan(&one); err != nil {
			break
		}
		all = append(all, one)
	}
	return all, errors.Join(err, rows.Err(), rows.Close())
}
