package state

import (
	"context"
	"database/sql"
	"time"
)

// Imported is a message of a conversation from elsewhere.
type Imported struct {
	Line          int // in the file
	Time          time.Time
	Speaker, Text string
}

// Import stores a conversation, from a file named origin, in place of what came from there before.
func (j *Memory) Import(ctx context.Context, room, origin string, messages []Imported) error {
	return j.change(ctx, "store import", func(tx *sql.Tx) error {
		if err := run(ctx, tx, "DELETE FROM import WHERE room = ? AND origin = ?", room, origin); err != nil {
			return err
		}
		for _, m := range messages {
			_, err := tx.ExecContext(ctx, "INSERT INTO import (room, origin, line, time, speaker, text) VALUES (?, ?, ?, ?, "+
				"?, ?)",
				room, origin, m.Line, nanos{&m.Time}, m.Speaker, m.Text)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Imports lists the files from which a room has conversations, in the order in which they came.
func (j *Memory) Imports(ctx context.Context, room string) ([]string, error) {
	return list(
		ctx,
		j.core,
		"list imports",
		scanText,
		"SELECT origin FROM import WHERE room = ? GROUP BY origin ORDER BY min(seq)",
		room,
	)
}

// ImportedBytes returns how much text a room has from other files than origin.
func (j *Memory) ImportedBytes(ctx context.Context, room, origin string) (int, error) {
	return value[int](ctx, j.core, "measure imports", `SELECT ifnull(sum(length(CAST(text AS BLOB))), 0) FROM import
		WHERE room = ? AND origin <> ?`, room, origin)
}

// Remembers reports whether a room has a note or an import.
func (j *Memory) Remembers(ctx context.Context, room string) bool {
	found := false
	err := j.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM note WHERE room = ?1)
		OR EXISTS (SELECT 1 FROM import WHERE room = ?1)`, room).Scan(&found)
	return err != nil || found
}

// Imported returns the conversation that came from a file.
func (j *Memory) Imported(ctx context.Context, room, origin string) ([]Imported, error) {
	return list(ctx, j.core, "read import", func(row scanner) (m Imported, err error) {
		err = row.Scan(&m.Line, nanos{&m.Time}, &m.Speaker, &m.Text)
		return m, err
	}, "SELECT line, time, speaker, text FROM import WHERE room = ? AND origin = ? ORDER BY seq", room, origin)
}
