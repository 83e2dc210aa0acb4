package bottest

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"matrix-tui/bot/bottest/host"
)

// doPower sets one level of a room: of a user, of an event type, or one with its own name.
func doPower(ctx context.Context, sc *script, _ bool, args []string) error {
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return err
	}
	level, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	path := []string{args[2]}
	if strings.Contains(args[2], ".") {
		path = []string{"events", args[2]}
	} else if user, err := sc.userID(ctx, args[2]); err == nil {
		path = []string{"users", user}
	}
	return p.SetPower(ctx, room, path, level)
}

// doGivenUp looks in the bot's journal for messages that it will never send.
func doGivenUp(ctx context.Context, sc *script, _ bool, args []string) error {
	r, re, err := sc.roomAndPattern(args)
	if err != nil {
		return err
	}
	var have []string
	err = host.Poll(ctx, func() (bool, error) {
		have, err = sc.refusals(ctx, r.id)
		for _, line := range have {
			if re.MatchString(line) {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("no message that was given up fits %q: %w: %q", args[1], err, have)
	}
	return nil
}

// refusals returns the messages of a room that the bot will never send, each with the error.
func (sc *script) refusals(ctx context.Context, room string) ([]string, error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(sc.state(), "journal.db")+"?mode=ro&_pragma=busy_timeout(2000)")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx,
		`SELECT CASE relation WHEN 'reaction' THEN 'm.reaction' WHEN 'redaction' THEN 'm.room.redaction' ELSE 'm.room.message' END
		|| ' ' || replace(body, char(10), ' ') || ' ' || error FROM message WHERE room = ? AND status = 2`, room)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return nil, err
		}
		out = append(out, line)
	}
	return out, rows.Err()
}
