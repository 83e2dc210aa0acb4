package workspace

import (
	"regexp"
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

// hasTask finds a line that names the task, with or without a time.
var hasTask = regexp.MustCompile(`(?m)^[ \t]*(?:[-*][ \t]+)?(?:\[[^\]\n]*\][ \t]*)?Task:`)

// StatusEntry completes what the agent has added to status.md: it returns the text that
// should be there instead. An entry has a line with the task and a line with the outcome,
// whoever wrote them. With always, the outcome is added in any case: the agent could not
// know it.
func StatusEntry(now time.Time, added, task, outcome string, always bool) string {
	if strings.TrimSpace(added) == "" {
		return StatusLines(now, task, outcome)
	}
	stamp := now.Format("[2006-01-02 15:04] ")
	lines := 0
	for line := range strings.Lines(added) {
		if strings.TrimSpace(line) != "" && !hasTask.MatchString(line) {
			lines++
		}
	}
	out := strings.TrimRight(added, "\n") + "\n"
	if !hasTask.MatchString(added) {
		out = "\n" + stamp + "Task: " + StatusText(task) + "\n" + strings.TrimLeft(out, "\n")
	}
	if lines == 0 || always {
		out += stamp + StatusText(outcome) + "\n"
	}
	return out
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
