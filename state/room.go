package state

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"matrix-tui/state/damage"
	"matrix-tui/state/disk"
)

// room is what is known of a room: a row of the table room. Its slices are replaced, never changed in place.
type room struct {
	container string
	session   string
	reset     string // stands for the last end of its session
	volumes   string // the room whose volumes it uses, "" for its own
	successor string // the room that replaced it
	packages  []string
	history   turns
}

func (r *room) empty() bool {
	return r.container+r.session+r.reset+r.volumes+r.successor == "" && len(r.packages)+len(r.history) == 0
}

func (r *room) endSession() { r.session, r.reset = "", rand.Text() }

// maxPackages bounds the packages of a room, and notes about others. A note is in parentheses.
const maxPackages = 300

// addPackages adds packages; a note replaces those beyond maxPackages.
func (r *room) addPackages(names []string) {
	all := slices.Concat(r.packages, names)
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) > maxPackages {
		all = append(all[:maxPackages-1], fmt.Sprintf("(%d more)", len(all)-maxPackages+1))
	}
	r.packages = all
}

// moveTo moves what is known of the room id to its successor.
func (r *room) moveTo(id string, next *room) {
	known := r.container+r.session+r.volumes != "" || len(r.history) > 0
	if known && next.container == "" { // unknown: moved already
		next.volumes = cmp.Or(r.volumes, id)
		next.session, next.reset = cmp.Or(next.session, r.session), cmp.Or(next.reset, r.reset)
		next.addPackages(r.packages)
		r.volumes, r.session, r.reset = "", "", ""
	}
	if len(r.history) > 0 {
		next.history = slices.Concat(r.history, next.history).unique().window()
	}
	r.container, r.packages, r.history = "", nil, nil
}

// roomsKey in the table meta says that the table room is filled: state.json is a projection of it from then on.
const roomsKey = "rooms"

// rooms reads the table room. It returns nil if that was never written.
func (j *Journal) rooms(ctx context.Context) (map[string]room, error) {
	filled, err := value[bool](ctx, j.core, "read rooms", "SELECT 1 FROM meta WHERE key = ?", roomsKey)
	if err != nil || !filled {
		return nil, err
	}
	all := map[string]room{}
	_, err = list(ctx, j.core, "read rooms", func(row scanner) (none struct{}, err error) {
		var id, packages, history string
		var r room
		err = row.Scan(&id, &r.container, &r.session, &r.reset, &r.volumes, &r.successor, &packages, &history)
		if err == nil {
			err = errors.Join(json.Unmarshal([]byte(packages), &r.packages), json.Unmarshal([]byte(history), &r.history))
			if err != nil {
				err = fmt.Errorf("room %s: %w", id, errors.Join(damage.Err, err))
			}
		}
		all[id] = r
		return none, err
	}, "SELECT room, container, session, reset, volumes, successor, packages, history FROM room")
	return all, err
}

// saveRooms writes rows in one transaction; an empty one removes the room.
func (j *Journal) saveRooms(ctx context.Context, rows map[string]room) error {
	return j.change(ctx, "save rooms", func(tx *sql.Tx) error {
		err := run(ctx, tx, "INSERT INTO meta (key, value) VALUES (?, '1') ON CONFLICT DO NOTHING", roomsKey)
		if err != nil {
			return err
		}
		for id, r := range rows {
			if err := run(ctx, tx, "DELETE FROM room WHERE room = ?", id); err != nil {
				return err
			}
			if r.empty() {
				continue
			}
			if err := run(ctx, tx, "INSERT INTO room VALUES (?, ?, ?, ?, ?, ?, ?, ?)", id, r.container, r.session, r.reset,
				r.volumes, r.successor, string(disk.JSON(r.packages)), string(disk.JSON(r.history))); err != nil {
				return fmt.Errorf("room %s: %w", id, err)
			}
		}
		return nil
	})
}
