package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"matrix-tui/state/pages"
)

// shape describes a table, so that a row of a damaged journal finds its table by its
// values. A test checks that no row fits two tables.
type shape struct {
	table        string
	columns      []columnShape
	withoutRowID bool
	inserts      map[int]*sql.Stmt // by the number of columns; of the salvage's transaction
}

type columnShape struct {
	name    string
	text    bool // else a whole number
	null    bool // may be NULL
	absent  bool // may be missing at the end of a row, written before the column existed
	isRowID bool // stored as NULL; the row's ID is its value
}

type tableShapes []shape

// jsonColumns hold JSON of ours.
var jsonColumns = []string{"body", "content", "details", "raw"}

// shapes reads the shapes of all tables.
func shapes(ctx context.Context, tx *sql.Tx) (tableShapes, error) {
	names, err := queryAll(ctx, tx, scanText, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'")
	if err != nil {
		return nil, err
	}
	var all tableShapes
	for _, name := range names {
		s := shape{table: name, inserts: map[int]*sql.Stmt{}}
		if err := tx.QueryRowContext(ctx, "SELECT wr FROM pragma_table_list(?)", name).Scan(&s.withoutRowID); err != nil {
			return nil, err
		}
		s.columns, err = queryAll(ctx, tx, func(row scanner) (c columnShape, err error) {
			var kind string
			var notNull, hasDefault bool
			var nth int // column of the primary key, from 1
			err = row.Scan(&c.name, &kind, &notNull, &hasDefault, &nth)
			key := nth > 0
			c.text = kind == "TEXT"
			c.isRowID = key && kind == "INTEGER" && !s.withoutRowID // no table with a row ID has a key of several columns
			c.null = !notNull && !(key && s.withoutRowID)
			c.absent = !key && (c.null || hasDefault)
			return c, err
		}, "SELECT name, type, \"notnull\", dflt_value IS NOT NULL, pk FROM pragma_table_info(?)", name)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// of returns the table that a row belongs to, or nil.
func (all tableShapes) of(row pages.Row) *shape {
	for i := range all {
		if all[i].fits(row) {
			return &all[i]
		}
	}
	return nil
}

// fits reports whether a row has the form of the table's rows.
func (s *shape) fits(row pages.Row) bool {
	if row.Index != s.withoutRowID || len(row.Values) > len(s.columns) {
		return false
	}
	for i, c := range s.columns {
		if i >= len(row.Values) {
			if !c.absent {
				return false
			}
			continue
		}
		switch v := row.Values[i].(type) {
		case nil:
			if !c.null {
				return false
			}
		case int64:
			if c.text || c.isRowID {
				return false
			}
		case string:
			if !c.text || !utf8.ValidString(v) || strings.Contains(v, "\x00") {
				return false
			}
			if v != "" && slices.Contains(jsonColumns, c.name) && !json.Valid([]byte(v)) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// insert stores a row in its table. It returns false for a row that has none although it
// should. The indexes are built again.
func (all tableShapes) insert(ctx context.Context, tx *sql.Tx, row pages.Row) bool {
	s := all.of(row)
	if s == nil {
		return row.Index || ofSQLite(row)
	}
	args := make([]any, 0, len(row.Values))
	for i, value := range row.Values {
		if s.columns[i].isRowID {
			value = row.ID
		}
		args = append(args, value)
	}
	stmt, err := s.insert(ctx, tx, len(args))
	if err == nil {
		_, err = stmt.ExecContext(ctx, args...)
	}
	return err == nil
}

// insert returns the statement that stores a row of the table's first columns. It is
// closed with the transaction.
func (s *shape) insert(ctx context.Context, tx *sql.Tx, columns int) (*sql.Stmt, error) {
	if stmt := s.inserts[columns]; stmt != nil {
		return stmt, nil
	}
	var names []string
	for _, c := range s.columns[:columns] {
		names = append(names, c.name)
	}
	marks := strings.Repeat("?, ", columns-1) + "?"
	stmt, err := tx.PrepareContext(ctx, "INSERT INTO "+s.table+" ("+strings.Join(names, ", ")+") VALUES ("+marks+")"+s.conflict(names))
	if err == nil {
		s.inserts[columns] = stmt
	}
	return stmt, err
}

// conflict says which of two versions of a row stays: the one that is further, so that
// nothing is done twice.
func (s *shape) conflict(names []string) string {
	further := ""
	switch {
	case slices.Contains(names, "status"):
		further = "excluded.status > status"
	case s.table == "task":
		further = "instr('queued running waiting answered done', excluded.state) > instr('queued running waiting answered done', state)"
	default:
		return " ON CONFLICT DO NOTHING"
	}
	var set []string
	for _, name := range names {
		set = append(set, name+" = excluded."+name)
	}
	return " ON CONFLICT DO UPDATE SET " + strings.Join(set, ", ") + " WHERE " + further
}

// ofSQLite reports whether a row is one of SQLite's own tables: the schema, or the
// sequences.
func ofSQLite(row pages.Row) bool {
	var kinds strings.Builder
	for _, value := range row.Values {
		switch value.(type) {
		case nil:
			kinds.WriteByte('0')
		case int64:
			kinds.WriteByte('i')
		case string:
			kinds.WriteByte('t')
		}
	}
	return slices.Contains([]string{"tttit", "ttti0", "ti"}, kinds.String())
}
