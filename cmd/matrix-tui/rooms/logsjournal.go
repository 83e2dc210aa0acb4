package rooms

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"matrix-tui/sandbox"
)

const (
	journalLines = 20_000 // of the unit's, that are searched
	journalTime  = 20 * time.Second
	maxJournal   = 1 << 20 // bytes of one line
)

// journal returns the bot's log entries about the room since a time, from systemd's
// journal. If there is none, hint says where to look.
func (s logSource) journal(ctx context.Context, since time.Time) (found []entry, hint string) {
	const elsewhere = "(the bot's own log is in its output: %s)"
	if !sandbox.UnderSystemd() {
		return nil, fmt.Sprintf(elsewhere, "this host does not run systemd")
	}
	ctx, cancel := context.WithTimeout(ctx, journalTime)
	defer cancel()
	argv := []string{"--unit=" + s.unit, "--output=json", "--no-pager", "--quiet", "--lines=" + strconv.Itoa(journalLines)}
	if !since.IsZero() {
		argv = append(argv, "--since=@"+strconv.FormatInt(since.Unix(), 10))
	}
	out, err := exec.CommandContext(ctx, "journalctl", argv...).Output()
	if err != nil {
		return nil, fmt.Sprintf(elsewhere, fmt.Sprintf("journalctl --unit=%s: %v", s.unit, err))
	}
	if len(out) == 0 {
		return nil, fmt.Sprintf("(the journal has no entries of %s that this user may read: run this as root, or grant "+
			"access with `usermod --append --groups systemd-journal USER`)", s.unit)
	}
	return journalEntries(out, s.room), ""
}

// alwaysTold are the log messages that concern every room.
var alwaysTold = []string{"starting", "ready", "stopped", "ended"}

// journalEntries parses journalctl's JSON lines, each containing one of the bot's JSON
// lines, and keeps those about the room.
func journalEntries(out []byte, room RoomLine) (found []entry) {
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, maxJournal)
	for lines.Scan() {
		var outer struct {
			Message string `json:"MESSAGE"`
			Micros  string `json:"__REALTIME_TIMESTAMP"`
		}
		if json.Unmarshal(lines.Bytes(), &outer) != nil {
			continue // bytes that are not text
		}
		micros, err := strconv.ParseInt(outer.Micros, 10, 64)
		if err != nil {
			continue
		}
		if kind, text, ok := botLine(outer.Message, room); ok {
			found = append(found, entry{time.UnixMicro(micros).UTC(), kind, text})
		}
	}
	return found
}

// botLine parses a line of the bot's log; ok is false if it is about another room.
func botLine(text string, room RoomLine) (kind, said string, ok bool) {
	var fields map[string]any
	if json.Unmarshal([]byte(text), &fields) != nil {
		return "", "", false
	}
	message, _ := fields["message"].(string)
	level, _ := fields["level"].(string)
	here := fields["room"] == room.Room || fields["room"] == nil && room.Container != "" &&
		fields["container"] == room.Container
	if !here && !slices.Contains(alwaysTold, message) {
		return "", "", false
	}
	said = message
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains([]string{"message", "level", "time", "room", "container"}, name) {
			said += fmt.Sprintf(" %s=%v", name, fields[name])
		}
	}
	return level, strings.TrimSpace(said), true
}
