package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"matrix-tui/state/event"
)

// written is the JSON in the tables whose damage SQLite does not see: column, what takes its place, and how it is read.
var written = []struct {
	table, column, empty string
	into                 func() any
}{
	{"event", "body", "{}", func() any { return new(event.Body) }},
	{"task", "details", "{}", func() any { return new(Details) }},
	{"message", "file", "", func() any { return new(event.FileInfo) }},
	{"room", "packages", "[]", func() any { return new([]string) }},
	{"room", "history", "[]", func() any { return new([]json.RawMessage) }},
}

// mend empties JSON that cannot be read, in the copy of a snapshot: the snapshot has it since the text was damaged, and
// each start would restore it again.
func (j *Snapshots) mend(ctx context.Context) error {
	return j.inTx(ctx, func(tx *sql.Tx) error {
		for _, w := range written {
			var bad []int64
			_, err := queryAll(ctx, tx, func(row scanner) (none struct{}, err error) {
				text, err := scanKeyed(row)
				if err == nil && json.Unmarshal([]byte(text.json), w.into()) != nil {
					bad = append(bad, text.seq)
				}
				return none, err
			}, fmt.Sprintf("SELECT rowid, %s FROM %s WHERE %[1]s <> ?", w.column, w.table), w.empty)
			if err != nil {
				return err
			}
			for _, row := range bad {
				j.log.Error().
					Str("column", w.table+"."+w.column).
					Int64("row", row).
					Msg("cannot read JSON of a snapshot: emptied")
				update := fmt.Sprintf("UPDATE %s SET %s = ? WHERE rowid = ?", w.table, w.column)
				if err := run(ctx, tx, update, w.empty, row); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
