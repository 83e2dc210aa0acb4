package bottest

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

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
		rows, err := db.Query("SELECT room, session, packages, successor FROM room")
		if err != nil {
			return fmt.Errorf("read journal: %w", err)
		}
		defer rows.Close()
		sessions, packages, successors := map[string]any{}, map[string]any{}, map[string]string{}
		for rows.Next() {
			var room, session, names, successor string
			var p any
			if err := rows.Scan(&room, &session, &names, &successor); err != nil {
				return err
			}
			if err := json.Unmarshal([]byte(names), &p); err != nil {
				return err
			}
			if session != "" {
				sessions[room] = session
			}
			packages[room] = p
			if successor != "" {
				successors[room] = successor
			}
		}
		all["sessions"], all["packages"] = sessions, packages
		if err := rows.Err(); err != nil {
			return err
		}
		all["executions"], err = executionsIn(db, successors)
		return err
	})
}

// executionsIn returns the tasks of each room that have begun as the HTTP API shows them: in the order in which they came,
// or have ended. Those of an upgraded room are its successor's.
func executionsIn(db *sql.DB, successors map[string]string) (map[string]any, error) {
	all := map[string]any{}
	rows, err := db.Query(`SELECT room, execution, source, state, ended, question, question_context, question_event, question_deadline,
		error, details FROM task WHERE state <> 'queued' OR source = 'http'
		ORDER BY iif(state IN ('answered', 'done'), updated, created), seq`)
	if err != nil {
		return nil, fmt.Errorf("read tasks: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var room, id, source, state, ended, question, about, event, failed, details string
		var deadline int64
		if err := rows.Scan(&room, &id, &source, &state, &ended, &question, &about, &event, &deadline, &failed, &details); err != nil {
			return nil, err
		}
		var more struct {
			Answers []any  `json:"answers"`
			Result  string `json:"result"`
			Due     struct {
				Why string `json:"why"`
			} `json:"due"`
		}
		if err := json.Unmarshal([]byte(details), &more); err != nil {
			return nil, err
		}
		shown := map[string]string{"queued": "pending", "running": "running", "waiting": "waiting_for_input"}[state]
		e := map[string]any{"session_id": id, "answers": more.Answers, "error_message": failed, "due_reason": more.Due.Why}
		switch {
		case state == "waiting":
			e["current_question"], e["question_context"], e["question_event"] = question, about, event
			e["deadline"] = time.Unix(0, deadline).UTC().Format(time.RFC3339Nano)
		case shown == "" && ended == "completed":
			shown, e["results"] = "completed", []any{map[string]any{"output": more.Result}}
		case shown == "":
			shown = "failed"
		}
		e["state"] = shown
		for next := successors[room]; next != ""; next = successors[room] {
			room = next
		}
		list, _ := all[room].([]any)
		all[room] = append(list, e)
	}
	return all, rows.Err()
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
