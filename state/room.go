package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"matrix-tui/state/damage"
	"matrix-tui/state/disk"
)

// roomsKey in the table meta says that the table room is filled: state.json is a projection of it from then on.
const roomsKey = "rooms"

// Room is a row of the table room.
type Room struct {
	ID, Container, Session, Reset, Volumes, Successor string
	Packages                                          []string
	History                                           []json.RawMessage
}

func (r Room) empty() bool {
	return r.Container+r.Session+r.Reset+r.Volumes+r.Successor == "" &&
		len(r.Packages)+len(r.History) == 0
}

// rooms reads the table room. filled is false if that was never written.
func (j *Journal) rooms(ctx context.Context) (rows []Room, filled bool, err error) {
	var n int
	err = j.db.QueryRowContext(ctx, "SELECT count(*) FROM meta WHERE key = ?", roomsKey).Scan(&n)
	if err != nil || n == 0 {
		return nil, false, j.failed("read rooms", err)
	}
	rows, err = queryAll(ctx, j.db, scanRoom,
		"SELECT room, container, session, reset, volumes, successor, packages, history FROM room ORDER BY room")
	return rows, true, j.failed("read rooms", err)
}

func scanRoom(row scanner) (r Room, err error) {
	var packages, history string
	err = row.Scan(&r.ID, &r.Container, &r.Session, &r.Reset, &r.Volumes, &r.Successor, &packages, &history)
	for text, into := range map[*string]any{&packages: &r.Packages, &history: &r.History} {
		if err != nil {
			break
		}
		if err = json.Unmarshal([]byte(*text), into); err != nil {
			err = fmt.Errorf("room %s: %w", r.ID, errors.Join(damage.Err, err))
		}
	}
	return r, err
}

// saveRooms writes rows in one transaction; an empty one removes the room.
func (j *Journal) saveRooms(ctx context.Context, rows []Room) error {
	err := j.inTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO meta (key, value) VALUES (?, '1') ON CONFLICT DO NOTHING", roomsKey)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if _, err := tx.ExecContext(ctx, "DELETE FROM room WHERE room = ?", r.ID); err != nil {
				return err
			}
			if r.empty() {
				continue
			}
			if _, err := tx.ExecContext(ctx, "INSERT INTO room VALUES (?, ?, ?, ?, ?, ?, ?, ?)", r.ID, r.Container, r.Session,
				r.Reset, r.Volumes, r.Successor, string(disk.JSON(r.Packages)), joinList(r.History)); err != nil {
				return fmt.Errorf("room %s: %w", r.ID, err)
			}
		}
		return nil
	})
	return j.failed("save rooms", err)
}

// joinList returns a JSON list of values as they are.
func joinList(list []json.RawMessage) string {
	var buf strings.Builder
	for i, raw := range list {
		buf.WriteString([]string{"[", ","}[min(i, 1)])
		buf.Write(raw)
	}
	if len(list) == 0 {
		buf.WriteString("[")
	}
	return buf.String() + "]"
}
