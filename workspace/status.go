package workspace

import (
	"strings"
	"time"
	"unicode/utf8"

	"matrix-tui/state/clean"
)

const (
	// MaxStatusLine is the longest text in a line of the status log, in
	// characters.
	MaxStatusLine = 200
	// MaxTask is the longest task.md, in bytes.
	MaxTask = 4 << 20
)

// StatusLines is an entry of status.md: an empty line, then
//
//	[YYYY-MM-DD HH:MM] Task: <task>
//	[YYYY-MM-DD HH:MM] <outcome>
//
// each text on one line.
func StatusLines(now time.Time, task, outcome string) string {
	stamp := now.Format("[2006-01-02 15:04] ")
	return "\n" + stamp + "Task: " + StatusText(task) + "\n" + stamp + StatusText(outcome) + "\n"
}

// TaskFile returns the content of task.md: the task as it was written, without NUL, ending in a newline, at most
// MaxTask bytes.
func TaskFile(task string) []byte {
	text := clean.Cut(strings.TrimRight(unixText(task), "\n"), MaxTask-1)
	return []byte(text + "\n")
}

// StatusText returns a text as status.md has it: on one line, cut to MaxStatusLine characters. An empty text becomes a
// dash.
func StatusText(text string) string {
	text = strings.Join(strings.Fields(unixText(text)), " ")
	if text == "" {
		return "–"
	}
	if utf8.RuneCountInString(text) > MaxStatusLine {
		return string([]rune(text)[:MaxStatusLine-1]) + "…"
	}
	return text
}
