package text

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// lines returns the newest steps, at most the given number, each as one line.
func (l *Steps) lines(most int, line func(step) string) (lines []string) {
	shown := l.newest[max(0, len(l.newest)-most):]
	switch earlier := l.total - len(shown); earlier {
	case 0:
	case 1:
		lines = append(lines, "… 1 earlier step")
	default:
		lines = append(lines, fmt.Sprintf("… %d earlier steps", earlier))
	}
	for _, s := range shown {
		lines = append(lines, line(s))
	}
	return lines
}

// title names the step: "step 3: Run the tests", or "step 3: run_shell_command `ls`" if nobody said what it is for.
// width bounds the text that others wrote, in bytes.
func (s step) title(width int) string {
	if s.purpose != "" {
		return fmt.Sprintf("step %d: %s", s.number, literal(Cut(s.purpose, width)))
	}
	return strings.TrimSpace(fmt.Sprintf("step %d: %s %s", s.number, toolName(s.tool, width), Code(Cut(s.detail, width))))
}

// line is the step in the notice of a task that has run for some time: its icon, title and state.
func (s step) line(width int, elapsed time.Duration) string {
	line := toolIcon(s.tool) + " " + s.title(width)
	switch s.state {
	case stepRunning:
		if took := elapsed - s.began; took >= longStep {
			line += " · " + Duration(took)
		}
		return line + " …"
	case stepDone:
		return line + " ✓"
	case stepFailed:
		return strings.TrimSpace(line + " ✗ " + Code(Cut(s.fault, width)))
	}
	return line
}

// outcome is the step after the task's end: its state, purpose, command and error.
func (s step) outcome() string {
	mark := "–"
	switch s.state {
	case stepDone:
		mark = "✓"
	case stepFailed:
		mark = "✗"
	}
	parts := []string{mark, literal(s.purpose), Code(s.detail), Code(s.fault)}
	if s.purpose == "" {
		parts[1] = toolName(s.tool, detailSize)
	}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), " ")
}

// Details returns what the steps of a task were and how they ended, as many as fits accepts.
func (l *Steps) Details(fits func(text string) bool) string {
	for most := keptSteps; most > 0; most /= 2 {
		if text := strings.Join(l.lines(most, step.outcome), "\n"); fits(text) {
			return text
		}
	}
	return ""
}

// markdownSafe matches names that Markdown does not change.
var markdownSafe = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$`)

// literal returns one line of somebody else's text so that Markdown does not change it.
func literal(s string) string { return special.ReplaceAllString(s, `\$0`) }

// special matches what is Markdown within a line.
var special = regexp.MustCompile("[\\\\`*_~<&\\[\\]]")

// toolName returns a tool's name as Markdown; width limits an unusual one.
func toolName(name string, width int) string {
	switch {
	case name == "":
		return "a tool"
	case markdownSafe.MatchString(name):
		return name
	}
	return Code(Cut(name, width))
}

// toolIcon returns a tool's icon. Source: the built-in tools of Gemini CLI.
func toolIcon(name string) string {
	switch name {
	case "run_shell_command", "approved":
		return "💻"
	case "write_file", "replace", "edit":
		return "✏️"
	case "read_file", "read_many_files":
		return "📖"
	case "list_directory", "glob", "grep_search", "search_file_content":
		return "🔎"
	case "google_web_search", "web_fetch":
		return "🌐"
	case "memory_search", "memory_get", "memory_add", "memory_replace":
		return "🧠"
	case "schedule_create", "schedule_list", "schedule_cancel":
		return "🗓"
	}
	return "🔧"
}

// Working is the beginning of the notice of a running task.
const Working = "⏳ Working on it"

// Progress returns the notice of a running task: as much of it as fits accepts.
func (l *Steps) Progress(elapsed time.Duration, note string, fits func(notice string) bool) string {
	head := Working + " · " + Duration(elapsed)
	if l.total > 0 {
		head += fmt.Sprintf(" · step %d", l.total)
	}
	if note = Cut(strings.TrimSpace(note), noteSize); note != "" {
		note = "\n\n" + note
	}
	with := func(steps, width int) string {
		lines := l.lines(steps, func(s step) string { return s.line(width, elapsed) })
		return strings.Join(append([]string{head}, lines...), "\n") + note
	}
	if draft := quote(ending(Visible(l.draft), draftSize)); draft != "" {
		if notice := with(shownSteps, detailSize) + "\n\n" + draft; fits(notice) {
			return notice
		}
	}
	for _, room := range []struct{ steps, width int }{{shownSteps, detailSize}, {shownSteps, 100}, {shownSteps, 40},
		{shownSteps, 10}, {3, 10}} {
		if notice := with(room.steps, room.width); fits(notice) {
			return notice
		}
	}
	return head
}

// quote returns text as a block quote.
func quote(text string) string {
	if text == "" {
		return ""
	}
	return "> " + strings.ReplaceAll(text, "\n", "\n> ")
}

// ending returns the end of a text, from the beginning of a line or a word, in at most size bytes.
func ending(text string, size int) string {
	text = strings.TrimSpace(text)
	if len(text) <= size {
		return text
	}
	text = strings.ToValidUTF8(text[len(text)-size:], "")
	for _, sep := range []string{"\n", " "} {
		if _, rest, found := strings.Cut(text[:len(text)/2], sep); found {
			return "… " + strings.TrimSpace(rest+text[len(text)/2:])
		}
	}
	return "… " + text
}
