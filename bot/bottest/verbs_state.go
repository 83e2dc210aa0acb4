package bottest

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"matrix-tui/bot/bottest/host"
)

func doState(ctx context.Context, sc *script, neg bool, args []string) error {
	re, err := regexp.Compile(args[1])
	if err != nil {
		return err
	}
	var value string
	var last error
	err = host.Poll(ctx, func() (bool, error) {
		value, last = sc.stateValue(args[0])
		return (last == nil && re.MatchString(value)) != neg, nil
	})
	if err != nil {
		return fmt.Errorf("%s is %s (%v)", args[0], cut(value, 500), last)
	}
	return nil
}

// doExecution sets $ID to the session ID of an execution of the room.
func doExecution(ctx context.Context, sc *script, _ bool, args []string) error {
	path := ".executions[" + args[0] + "][" + args[1] + "].session_id"
	err := host.Poll(ctx, func() (bool, error) {
		id, err := sc.stateValue(path)
		sc.ts.Setenv("ID", id)
		return err == nil && id != "", nil
	})
	if err != nil {
		return fmt.Errorf("no %s: %w", path, err)
	}
	return nil
}

// addRooms adds what only the journal has: .sessions[ROOM], .packages[ROOM] and .executions[ROOM].
func (sc *script) addRooms(v any) error {
	all, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	return inDatabase(filepath.Join(sc.state(), "journal.db"), func(db *sql.DB) error {
		rows, err := db.Query("SELECT room, session, packages, executions FROM room")
		if err != nil {
			return fmt.Errorf("read journal: %w", err)
		}
		defer rows.Close()
		sessions, packages, executions := map[string]any{}, map[string]any{}, map[string]any{}
		for rows.Next() {
			var room, session, names, list string
			var p, e any
			if err := rows.Scan(&room, &session, &names, &list); err != nil {
				return err
			}
			if err := errors.Join(json.Unmarshal([]byte(names), &p), json.Unmarshal([]byte(list), &e)); err != nil {
				return err
			}
			if session != "" {
				sessions[room] = session
			}
			packages[room] = p
			if list != "[]" {
				executions[room] = e
			}
		}
		all["sessions"], all["packages"], all["executions"] = sessions, packages, executions
		return rows.Err()
	})
}

// stateValue returns a value of state.json or of the journal's rooms by a path such as .history[den][0].content; a
// room's name in brackets stands for its ID. A string is returned as it is, anything else as JSON; a missing value is
// "".
func (sc *script) stateValue(path string) (string, error) {
	data, err := os.ReadFile(filepath.Join(sc.state(), "state.json"))
	if err != nil {
		return "", fmt.Errorf("read state: %w", err)
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return "", fmt.Errorf("read state: %w", err)
	}
	if err := sc.addRooms(v); err != nil {
		return "", err
	}
	ids := map[string]string{}
	for name, r := range sc.rooms {
		ids[name] = r.id
	}
	v, err = walk(v, path, ids)
	if err != nil || v == nil {
		return "", err
	}
	if s, ok := v.(string); ok {
		return s, nil
	}
	out, err := json.Marshal(v)
	return string(out), err
}

var step = regexp.MustCompile(`^(?:\.([A-Za-z0-9_]+)|\[([^\]]+)\])`)

// walk follows a path into decoded JSON; nil if something on it is missing.
func walk(v any, path string, names map[string]string) (any, error) {
	for path != "" && path != "." {
		m := step.FindStringSubmatch(path)
		if m == nil {
			return nil, fmt.Errorf("bad path at %q", path)
		}
		path = path[len(m[0]):]
		key := m[1] + m[2]
		if id, ok := names[key]; ok && m[2] != "" {
			key = id
		}
		switch at := v.(type) {
		case map[string]any:
			v = at[key]
		case []any:
			i, err := strconv.Atoi(strings.TrimSpace(key))
			if err != nil {
				return nil, fmt.Errorf("%q is not an index", key)
			}
			if i < 0 {
				i += len(at)
			}
			if i < 0 || i >= len(at) {
				return nil, nil
			}
			v = at[i]
		default:
			return nil, nil
		}
	}
	return v, nil
}
