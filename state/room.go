package state

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
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
	unread    bool // it has a history, which is in the journal only
}

func (r *room) empty() bool {
	return r.container+r.session+r.reset+r.volumes+r.successor == "" && len(r.packages) == 0 && !r.talked()
}

func (r *room) talked() bool { return r.unread || len(r.history) > 0 }

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

// moveTo moves what is known of the room id to its successor. The histories of both are read.
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

// rooms reads the table room, with or without histories. It returns nil if that was never written.
func (j *Journal) rooms(ctx context.Context, histories bool) (map[string]room, error) {
	filled, err := value[bool](ctx, j.core, "read rooms", "SELECT 1 FROM meta WHERE key = ?", roomsKey)
	if err != nil || !filled {
		return nil, err
	}
	all := map[string]room{}
	_, err = list(ctx, j.core, "read rooms", func(row scanner) (none struct{}, err error) {
		var id, packages, history string
		var r room
		err = row.Scan(&id, &r.container, &r.session, &r.reset, &r.volumes, &r.successor, &packages, &r.unread, &history)
		if err == nil {
			err = readJSON(packages, &r.packages)
		}
		if err == nil && histories {
			r.unread, err = false, readJSON(history, &r.history)
		}
		if err != nil {
			err = fmt.Errorf("room %s: %w", id, err)
		}
		all[id] = r
		return none, err
	}, "SELECT room, container, session, reset, volumes, successor, packages, "+
		"octet_length(history) > 4 OR history NOT IN ('[]', 'null'), iif(?, history, '') FROM room", histories)
	return all, err
}

// history reads the history of a room.
func (j *Journal) history(ctx context.Context, id string) (ts turns, err error) {
	text, err := j.historyText(ctx, id)
	if err == nil && text != "" {
		err = j.failed("read history of "+id, readJSON(text, &ts))
	}
	return ts, err
}

// checkedHistory returns the history of a room as its row has it, if it is JSON.
func (j *Journal) checkedHistory(ctx context.Context, id string) (string, error) {
	text, err := j.historyText(ctx, id)
	if err == nil && text != "" && !json.Valid([]byte(text)) {
		err = j.failed("read history of "+id, damage.Err)
	}
	return text, err
}

// historyText returns the history of a room as its row has it: see [turns.lines]. Nothing has checked it.
func (j *Journal) historyText(ctx context.Context, id string) (string, error) {
	return value[string](ctx, j.core, "read history", "SELECT history FROM room WHERE room = ?", id)
}

// saveRoom writes a row, without its history if that is there already.
const saveRoom = `INSERT INTO room VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO UPDATE SET
	container = ?2, session = ?3, reset = ?4, volumes = ?5, successor = ?6, packages = ?7, history = iif(?9, history, ?8)`

// saveRooms writes rows in one transaction; an empty one removes the room.
func (j *Journal) saveRooms(ctx context.Context, rows map[string]room) error {
	return j.change(ctx, "save rooms", func(tx *sql.Tx) error {
		err := run(ctx, tx, "INSERT INTO meta (key, value) VALUES (?, '1') ON CONFLICT DO NOTHING", roomsKey)
		if err != nil {
			return err
		}
		for id, r := range rows {
			if r.empty() {
				err = run(ctx, tx, "DELETE FROM room WHERE room = ?", id)
			} else {
				err = run(ctx, tx, saveRoom, id, r.container, r.session, r.reset, r.volumes, r.successor,
					string(disk.JSON(r.packages)), cmp.Or(r.history.lines(), "[]"), r.unread)
			}
			if err != nil {
				return fmt.Errorf("room %s: %w", id, err)
			}
		}
		return nil
	})
}
