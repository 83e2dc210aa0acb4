package workspace

import (
	"strings"

	"matrix-tui/state/clean"
)

const (
	// MaxHistory bounds the conversation in a prompt, in bytes.
	MaxHistory = 40_000
	// minHistory is what is left of that if other parts fill the prompt.
	minHistory = 4_000
)

// Turn is one message of the conversation so far.
type Turn struct {
	Role    string // "user" or "assistant"
	Content string
}

// conversation returns the newest turns that fit into limit bytes, oldest first.
func conversation(turns []Turn, limit int) string {
	left, first := limit, len(turns)
	told := make([]string, len(turns))
	for first > 0 {
		turn := turns[first-1]
		line := said(turn.Role, turn.Content) + "\n"
		if len(line) > left && first == len(turns) { // the newest is always included; escaping at most doubles it
			line = said(turn.Role, clean.Cut(unixText(turn.Content), limit/2-200)) + "\n"
		}
		if len(line) > left {
			break
		}
		first--
		left -= len(line)
		told[first] = line
	}
	if first > 0 {
		return "(older turns left out)\n" + strings.Join(told[first:], "")
	}
	return strings.Join(told, "")
}
