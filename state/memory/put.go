package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"matrix-tui/state/sqlitefile"
)

const (
	// MaxText bounds the text of a room, in bytes.
	MaxText   = 32 << 20
	maxChunks = 100_000
	// The oldest conversations and tasks go when 9 of 10 parts are used.
	nearlyFull = 0.9
)

// Put stores documents, in place of older versions of them. A document without entries is removed.
func (x *Index) Put(ctx context.Context, docs ...Document) error {
	return x.write(ctx, "store documents", func(w *writer) error { return w.put(docs...) })
}

// writer changes the memory of a room in one transaction.
type writer struct {
	ctx           context.Context
	tx            *sql.Tx
	room          int64
	stems         *stemmer
	text          strings.Builder
	stmts         map[string]*sql.Stmt
	changed       bool
	chunks, bytes int64 // that have come
}

// write changes the memory of a room, or nothing. It returns ErrDoubt if somebody has doubted the room since Open.
func (x *Index) write(ctx context.Context, what string, do func(*writer) error) error {
	return x.failed(what, sqlitefile.InTx(ctx, x.db, func(tx *sql.Tx) error {
		w := &writer{ctx: ctx, tx: tx, room: x.room, stems: newStemmer(), stmts: map[string]*sql.Stmt{}}
		doubts := int64(0)
		err := tx.QueryRowContext(ctx, "SELECT doubts FROM room WHERE id = ?", x.room).Scan(&doubts)
		if errors.Is(err, sql.ErrNoRows) || err == nil && doubts != x.doubts {
			return ErrDoubt
		}
		if err != nil {
			return err
		}
		if err := do(w); err != nil || !w.changed {
			return err
		}
		return w.finish(maxChunks, MaxText)
	}))
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

// put stores documents.
func (w *writer) put(docs ...Document) error {
	for _, doc := range docs {
		if err := w.putOne(&doc); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) putOne(doc *Document) error {
	hash := doc.tidy()
	var id int64
	err := w.tx.QueryRowContext(w.ctx, "DELETE FROM document WHERE room = ? AND path = ? RETURNING id", w.room,
		doc.Path).Scan(&id)
	if err == nil {
		err = w.drop("unit.document = ?", id)
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) || len(doc.Entries) == 0 {
		return none(err)
	}
	w.changed = true
	id, err = w.insert(`INSERT INTO document (room, source, path, hash, kind, person, weight, origin)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, w.room, doc.Source, doc.Path, hash, doc.Kind, doc.Person, doc.Weight, doc.Origin)
	for _, part := range units(doc, doc.Entries) {
		if err == nil {
			err = w.addUnit(id, part)
		}
	}
	return err
}

// none returns an error that is more than that there is no row.
func none(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

func (w *writer) addUnit(document int64, part unit) error {
	size := 0
	for _, e := range slices.Concat(part.chunks...) {
		size += len(e.Speaker) + len(e.Text)
	}
	unit, err := w.insert("INSERT INTO unit (room, document, time, session, chunks, bytes) VALUES (?, ?, ?, ?, ?, ?)",
		w.room, document, nanos(part.chunks[0][0].Time), part.session, len(part.chunks), size)
	for _, entries := range part.chunks {
		if err == nil {
			err = w.addChunk(unit, entries)
		}
	}
	w.chunks, w.bytes = w.chunks+int64(len(part.chunks)), w.bytes+int64(size)
	return err
}

func (w *writer) addChunk(unit int64, entries []Entry) error {
	chunk, err := w.insert("INSERT INTO chunk (room, unit, hash) VALUES (?, ?, ?)", w.room, unit, hashOf(textOf(entries)))
	if err != nil {
		return err
	}
	w.text.Reset()
	for _, e := range entries {
		if _, err := w.exec(`INSERT INTO entry (chunk, first, last, time, speaker, text, event) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			chunk, e.From, e.To, nanos(e.Time), e.Speaker, e.Text, e.Event); err != nil {
			return err
		}
		w.index(e.Speaker)
		w.index(e.Text)
	}
	_, err = w.exec("INSERT INTO words (rowid, stems) VALUES (?, ?)", chunk, w.text.String())
	return err
}

// stemIn returns a stem as it is in the index: with the number of its room.
func stemIn(room int64, stem string) string { return strconv.FormatInt(room, 10) + "x" + stem }

// index adds the stems of a text to those of the chunk.
func (w *writer) index(text string) {
	var seen dateReader
	words(text, func(word string) {
		if day, ok := seen.day(word); ok {
			w.text.WriteString(stemIn(w.room, day) + " ")
		}
		if !unindexed[word] {
			w.text.WriteString(stemIn(w.room, w.stems.stem(word)) + " ")
		}
	})
}

// drop removes units of the room.
func (w *writer) drop(which string, args ...any) error {
	w.changed = true
	which = "SELECT unit.id FROM unit WHERE unit.room = ? AND " + which
	args = append([]any{w.room}, args...)
	var chunks, size int64
	if err := w.tx.QueryRowContext(w.ctx, "SELECT ifnull(sum(chunks), 0), ifnull(sum(bytes), 0) FROM unit WHERE id IN ("+
		which+")", args...).Scan(&chunks, &size); err != nil {
		return err
	}
	w.chunks, w.bytes = w.chunks-chunks, w.bytes-size
	for _, statement := range []string{
		"DELETE FROM words WHERE rowid IN (SELECT id FROM chunk WHERE unit IN (%s))",
		"DELETE FROM entry WHERE chunk IN (SELECT id FROM chunk WHERE unit IN (%s))",
		"DELETE FROM chunk WHERE unit IN (%s)",
		"DELETE FROM unit WHERE id IN (%s)",
	} {
		if _, err := w.exec(fmt.Sprintf(statement, which), args...); err != nil {
			return err
		}
	}
	return nil
}

// dropEmpty removes documents of which no unit is left.
func (w *writer) dropEmpty() error {
	_, err := w.exec("DELETE FROM document WHERE room = ? AND id NOT IN (SELECT document FROM unit WHERE room = ?)",
		w.room, w.room)
	return err
}

// finish counts what has changed, and keeps the bounds: the oldest conversations and tasks go, which the record has.
func (w *writer) finish(mostChunks, mostBytes float64) error {
	for {
		var chunks, size float64
		err := w.tx.QueryRowContext(w.ctx, `UPDATE room SET chunks = chunks + ?, bytes = bytes + ?, changed = ? WHERE id = ?
			RETURNING chunks, bytes`, w.chunks, w.bytes, time.Now().UnixNano(), w.room).Scan(&chunks, &size)
		if w.chunks, w.bytes = 0, 0; err != nil || chunks < nearlyFull*mostChunks && size < nearlyFull*mostBytes {
			return err
		}
		err = w.drop(`unit.id IN (SELECT unit.id FROM unit JOIN document ON document.id = unit.document
			WHERE unit.room = ? AND source IN (?, ?) ORDER BY unit.time, unit.id LIMIT 200)`,
			w.room, SourceTranscript, SourceExecution)
		switch {
		case err != nil:
			return err
		case w.chunks < 0:
			err = w.dropEmpty()
		case chunks > mostChunks || size > mostBytes:
			return ErrFull
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func texts(ctx context.Context, q querier, query string, args ...any) ([]string, error) {
	return column[string](ctx, q, query, args...)
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// column reads the only column of a query.
func column[T any](ctx context.Context, q querier, query string, args ...any) (all []T, err error) {
	err = each(ctx, q, func(rows *sql.Rows) error {
		var one T
		err := rows.Scan(&one)
		all = append(all, one)
		return err
	}, query, args...)
	return all, err
}

// each calls do for each row of a query.
func each(ctx context.Context, q querier, do func(*sql.Rows) error, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("query: %w", err)
	}
	for err == nil && rows.Next() {
		err = do(rows)
	}
	return errors.Join(err, rows.Err(), rows.Close())
}
