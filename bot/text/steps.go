package text

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// shownSteps is how many steps are kept and shown in the notice.
	shownSteps = 10
	// detailSize and faultSize bound a step's argument and error, noteSize a note, draftSize the shown end of an answer
	// that is being written, in bytes.
	detailSize, faultSize, noteSize, draftSize = 200, 80, 200, 1000
)

// stepState is the state of a step.
type stepState int

const (
	stepRunning stepState = iota
	stepDone
	stepFailed
	stepOver // its end is unknown
)

// step is one tool call. Its text is safe to show; see [OneLine].
type step struct {
	number              int
	id                  string
	tool, detail, fault string
	state               stepState
}

// Steps is the progress of a run: its newest steps, and their total number. The zero value is a run without steps.
type Steps struct {
	run    string // the run of these steps; "" before one has started
	first  string // ID of its first call
	newest []step
	total  int
	failed int
	draft  string // what the assistant is saying
}

// Begin says which run is active. If another run was active before, its steps are dropped, as a restart of the bot
// would do. Steps of the bot itself before the run are finished.
func (l *Steps) Begin(run string) {
	switch l.run {
	case run:
	case "":
		l.run = run
		for i := range l.newest {
			if l.newest[i].state == stepRunning {
				l.newest[i].state = stepOver
			}
		}
	default:
		*l = Steps{run: run}
	}
}

// Call adds a step. If the ID is that of the run's first call, the run is being read from its beginning again.
func (l *Steps) Call(id, tool, detail string) {
	if id != "" && id == l.first {
		*l = Steps{run: l.run}
	}
	if l.first == "" && l.run != "" {
		l.first = id
	}
	if id != "" && slices.ContainsFunc(l.newest, func(s step) bool { return s.id == id && s.state == stepRunning }) {
		return // reported twice
	}
	if len(l.newest) == shownSteps {
		l.newest = append(l.newest[:0], l.newest[1:]...)
	}
	l.total++
	l.draft = ""
	l.newest = append(l.newest, step{number: l.total, id: id, tool: OneLine(tool, 64), detail: OneLine(detail, detailSize)})
}

// Say shows what the assistant has said since the last step, or the end of it.
func (l *Steps) Say(draft string) { l.draft = draft }

// Result ends a step, with an error if it failed, and reports whether anything changed.
func (l *Steps) Result(id, tool, fault string, failed bool) bool {
	at := slices.IndexFunc(l.newest, func(s step) bool { return s.id == id && s.state == stepRunning })
	lost := at < 0 && tool != "" // of a step that is no longer kept
	if failed && (at >= 0 || lost) {
		l.failed++
	}
	if at < 0 {
		return false
	}
	l.newest[at].state = stepDone
	if failed {
		l.newest[at].state, l.newest[at].fault = stepFailed, OneLine(fault, faultSize)
	}
	return true
}

// Now returns the newest running step, as in the notice but without its icon; "" if there is none.
func (l *Steps) Now() string {
	for _, s := range slices.Backward(l.newest) {
		if s.state == stepRunning {
			return s.words(detailSize)
		}
	}
	return ""
}

// Total returns the number of steps.
func (l *Steps) Total() int { return l.total }

// Failed returns how many of them failed.
func (l *Steps) Failed() int { return l.failed }

// Clone returns a copy that no longer changes.
func (l *Steps) Clone() Steps {
	c := *l
	c.newest = slices.Clone(l.newest)
	return c
}

// lines returns the newest steps, at most the given number; width bounds the text that others wrote in each, in bytes.
func (l *Steps) lines(most, width int) (lines []string) {
	shown := l.newest[max(0, len(l.newest)-most):]
	switch earlier := l.total - len(shown); earlier {
	case 0:
	case 1:
		lines = append(lines, "… 1 earlier step")
	default:
		lines = append(lines, fmt.Sprintf("… %d earlier steps", earlier))
	}
	for _, s := range shown {
		lines = append(lines, s.line(width))
	}
	return lines
}

// words name the step: "step 3: run_shell_command `ls`".
func (s step) words(width int) string {
	words := fmt.Sprintf("step %d: %s", s.number, toolName(s.tool, width))
	if detail := Code(Cut(s.detail, width)); detail != "" {
		words += " " + detail
	}
	return words
}

// line is the step in the notice: its icon, name and state.
func (s step) line(width int) string {
	line := toolIcon(s.tool) + " " + s.words(width)
	switch s.state {
	case stepRunning:
		return line + " …"
	case stepDone:
		return line + " ✓"
	case stepFailed:
		return strings.TrimSpace(line + " ✗ " + Code(Cut(s.fault, width)))
	}
	return line
}

// markdownSafe matches names that Markdown does not change.
var markdownSafe = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$`)

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
	case "memory_search", "memory_get":
		return "🧠"
	}
	return "🔧"
}

// Progress returns the notice of a running task: as much of it as fits accepts.
func (l *Steps) Progress(elapsed time.Duration, note string, fits func(notice string) bool) string {
	head := "⏳ Working on it · " + Duration(elapsed)
	if l.total > 0 {
		head += fmt.Sprintf(" · step %d", l.total)
	}
	if note = Cut(strings.TrimSpace(note), noteSize); note != "" {
		note = "\n\n" + note
	}
	if draft := quote(ending(Visible(l.draft), draftSize)); draft != "" {
		if notice := strings.Join(append([]string{head}, l.lines(shownSteps, detailSize)...), "\n") + note + "\n\n" + draft; fits(notice) {
			return notice
		}
	}
	for _, room := range []struct{ steps, width int }{{shownSteps, detailSize}, {shownSteps, 100}, {shownSteps, 40}, {shownSteps, 10}, {3, 10}} {
		notice := strings.Join(append([]string{head}, l.lines(room.steps, room.width)...), "\n") + note
		if fits(notice) {
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
