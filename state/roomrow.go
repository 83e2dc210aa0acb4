package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"matrix-tui/state/damage"
	"matrix-tui/state/disk"
)

// roomsKey in the table meta says that the table room is filled: state.json is a projection of it from then on.
const roomsKey = "rooms"

// roomRow is a row of the table room.
type roomRow struct {
	room, container, session, reset, volumes, successor string
	packages                                            []string
	history                                             turns
	executions                                          []json.RawMessage
}

// row returns what is known of a room.
func (c *contents) row(room string) roomRow {
	r := roomRow{
		room: room, container: c.containers[room], session: c.sessions[room], reset: c.resets[room], volumes: c.volumes[room],
		successor: c.successors[room], packages: c.packages[room], history: c.history[room],
	}
	for _, e := range c.executions[room] {
		r.executions = append(r.executions, e.raw)
	}
	return r
}

func (r roomRow) empty() bool {
	return r.container+r.session+r.reset+r.volumes+r.successor == "" && len(r.packages)+len(r.history)+
		len(r.executions) == 0
}

// add takes a row into the contents.
func (c *contents) add(r roomRow) {
	put(c.containers, r.room, r.container)
	put(c.sessions, r.room, r.session)
	put(c.resets, r.room, r.reset)
	put(c.volumes, r.room, r.volumes)
	put(c.successors, r.room, r.successor)
	if len(r.packages) > 0 {
		c.packages[r.room] = r.packages
	}
	if len(r.history) > 0 {
		c.history[r.room] = r.history
	}
	c.setExecutions(r.room, asExecutions(r.executions))
}

// rooms returns every room of which something is known.
func (c *contents) rooms() map[string]bool {
	all := map[string]bool{}
	for _, m := range []map[string]string{c.containers, c.sessions, c.resets, c.volumes, c.successors} {
		for room := range m {
			all[room] = true
		}
	}
	for _, rooms := range [][]string{slices.Collect(maps.Keys(c.packages)), slices.Collect(maps.Keys(c.history)),
		slices.Collect(maps.Keys(c.executions))} {
		for _, room := range rooms {
			all[room] = true
		}
	}
	return all
}

// loadRooms reads the table room. It returns nil if it was never filled.
func (j *Journal) loadRooms(ctx context.Context) (c *contents, err error) {
	var filled int
	if err := j.db.QueryRowContext(ctx, "SELECT count(*) FROM meta WHERE key = ?", roomsKey).Scan(&filled); err != nil ||
		filled == 0 {
		return nil, j.failed("read rooms", err)
	}
	rows, err := queryAll(ctx, j.db, func(row scanner) (r roomRow, err error) {
		var packages, history, executions string
		err = row.Scan(&r.room, &r.container, &r.session, &r.reset, &r.volumes, &r.successor, &packages, &history,
			&executions)
		for text, into := range map[*string]any{&packages: &r.packages, &history: &r.history, &executions: &r.executions} {
			if err != nil {
				break
			}
			if err = json.Unmarshal([]byte(*text), into); err != nil {
				err = fmt.Errorf("room %s: %w", r.room, errors.Join(damage.Err, err))
			}
		}
		return r, err
	}, "SELECT room, container, session, reset, volumes, successor, packages, history, executions FROM room ORDER BY room")
	if err != nil {
		return nil, j.failed("read rooms", err)
	}
	c = newContents()
	for _, r := range rows {
		c.add(r)
	}
	return c, nil
}

// saveRooms writes rows in one transaction; an empty one removes the room.
func (j *Journal) saveRooms(ctx context.Context, rows []roomRow) error {
	err := j.inTx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO meta (key, value) VALUES (?, '1') ON CONFLICT DO NOTHING",
			roomsKey); err != nil {
			return err
		}
		for _, r := range rows {
			if _, err := tx.ExecContext(ctx, "DELETE FROM room WHERE room = ?", r.room); err != nil {
				return err
			}
			if r.empty() {
				continue
			}
			packages, history, executions := string(disk.JSON(r.packages)), joinList(r.history), joinList(r.executions)
			if _, err := tx.ExecContext(ctx, "INSERT INTO room VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
				r.room, r.container, r.session, r.reset, r.volumes, r.successor, packages, history, executions); err != nil {
				return fmt.Errorf("room %s: %w", r.room, err)
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
