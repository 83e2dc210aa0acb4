package recall

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"matrix-tui/state"
	"matrix-tui/state/clean"
	"matrix-tui/state/scrub"
	"matrix-tui/workspace"
)

// contextFile has the newest tasks only: the daily logs have all of them.
const (
	contextFile = "context.md"
	statusFile  = "status.md"
	maxPrior    = 30
)

// sections are the headings of MEMORY.md, by kind, in their order.
var sections = []struct {
	kind    state.NoteKind
	heading string
}{{state.Procedural, "Preferences"}, {state.Semantic, "Facts"}, {state.Reflective, "Decisions"},
	{state.Answered, "Answers"}}

func headingOf(kind state.NoteKind) string {
	for _, s := range sections {
		if s.kind == kind {
			return s.heading
		}
	}
	return ""
}

var dailyLog = compiled(`^memory/(\d{4}-\d\d-\d\d)\.md$`)

// dayOf returns the day of a daily log, "" for other files.
func dayOf(name string) string {
	found := dailyLog().FindStringSubmatch(name)
	if found == nil {
		return ""
	}
	return found[1]
}

// strip removes the lines that were forgotten, or that the scrub hits. In status.md, a task takes its outcome along.
func (e *exchange) strip(name, content string) string {
	var out strings.Builder
	gone := false // the task of an entry
	for line := range strings.Lines(content) {
		found := taskEntry().FindStringSubmatch(line)
		switch {
		case name != statusFile || strings.TrimSpace(line) == "":
			gone = false
		case found != nil:
			gone = e.forgotten.Has(found[1])
		}
		hit := gone || e.forgotten.Has(item(line))
		if e.scrub != nil && !hit {
			_, hit = e.scrub.Text(line)
		}
		if hit {
			e.removed++
			continue
		}
		out.WriteString(line)
	}
	return out.String()
}

var taskEntry = compiled(`^\[[^\]\n]*\] Task: ([^\n]*)`)

// maxLost is how many lines a file may lose at once, or half of them, before that counts as a rewrite of the file.
const maxLost = 3

// merge brings MEMORY.md or a daily log in line with its notes, and returns it as it should be. A line that is gone is
// forgotten, unless the file is gone or most of it is: an agent has reworded it, perhaps because a page asked for that.
// A new line becomes a note.
func (e *exchange) merge(name, content string) string {
	notes, there := e.notes[name], map[string]bool{}
	for line := range strings.Lines(content) {
		there[plain(line)] = true
	}
	known := map[string]bool{}
	var lost []state.Note
	written := 0
	for _, n := range notes {
		known[plain(n.Line())] = true
		if n.Written {
			if written++; !there[plain(n.Line())] {
				lost = append(lost, n)
			}
		}
	}
	rewritten := strings.TrimSpace(content) == "" || len(lost) > maxLost && 2*len(lost) > written
	most := maxFile / 2
	if name != mainFile {
		most = maxFile / 8
	}
	e.learnLines(name, content, known)
	for _, n := range notes {
		line := n.Line()
		switch {
		case there[plain(line)]:
			if !n.Written {
				e.shown = append(e.shown, n.ID)
			}
		case n.Written && !rewritten:
			e.gone = append(e.gone, n)
		case n.Written && name != mainFile: // a log that somebody has removed
		case len(content)+len(line) < most:
			content = insert(name, content, headingOf(n.Kind), line)
			e.shown = append(e.shown, n.ID)
		default:
			e.log.Warn().Str("room", e.id).Str("file", name).Msg("a memory file is full: what is new is only in the record")
		}
	}
	return content
}

// learnLines makes notes of the lines that somebody has added to a file.
func (e *exchange) learnLines(name, content string, known map[string]bool) {
	kind, heading := state.Semantic, ""
	if name != mainFile {
		kind = state.Episodic
	}
	for _, line := range own(content) {
		if strings.HasPrefix(line, "#") {
			heading = strings.TrimSpace(strings.TrimLeft(line, "#"))
			continue
		}
		text := item(line)
		telling := strings.ContainsFunc(text, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) })
		if !telling || text == preamble || known[plain(text)] || e.filter.keep(text) != text {
			continue
		}
		known[plain(text)] = true
		n := state.Note{Room: e.id, Kind: kind, Text: text, Time: time.Now(), Salience: 0.8, Source: state.FromAgent,
			File: name, Written: true}
		for _, s := range sections {
			if s.heading == heading && name == mainFile {
				n.Kind = s.kind
			}
		}
		e.added = append(e.added, n)
	}
}

var itemMark = compiled(`^(?:[-*+•\s]|\d{1,9}[.)]\s)+`)

// item returns the text of a list item, as a note has it.
func item(text string) string {
	return clean.Line(itemMark().ReplaceAllString(clean.Line(text, 0), ""), maxSaid)
}

// plain returns a line or a note as they are compared with each other.
func plain(text string) string { return scrub.Plain(item(text)) }

// insert adds a line at the end of its section, which is created if it is missing, or at the end of the file.
func insert(name, content, section, text string) string {
	if strings.TrimSpace(content) == "" {
		content = title(name)
	}
	if !strings.HasSuffix(content, "\n") {
		content += "\n"
	}
	added := "- " + text + "\n"
	if section == "" {
		return content + added
	}
	heading := "## " + section
	var out []string
	at, inside := -1, false
	for line := range strings.Lines(content) {
		bare := strings.TrimSpace(line)
		switch {
		case bare == heading:
			inside = true
		case inside && strings.HasPrefix(bare, "#"):
			inside = false
		}
		out = append(out, line)
		if inside && (bare != "" || at < 0) {
			at = len(out)
		}
	}
	if at < 0 {
		return content + "\n" + heading + "\n\n" + added
	}
	switch { // below the blank line under a heading
	case strings.TrimSpace(out[at-1]) != heading:
	case at < len(out) && strings.TrimSpace(out[at]) == "":
		at++
	default:
		added = "\n" + added
	}
	return strings.Join(slices.Insert(out, at, added), "")
}

// preamble is the first paragraph of MEMORY.md.
const preamble = "What this room has learned. You may edit this file: what you change or delete here is changed or " +
	"forgotten everywhere."

// title is the beginning of a new file.
func title(name string) string {
	switch name {
	case mainFile:
		return "# Memory\n\n" + preamble + "\n"
	case contextFile:
		return workspace.FirstContext
	}
	return "# " + strings.TrimSuffix(path.Base(name), ".md") + "\n\n"
}

var (
	logEntry  = compiled(`^\d\d:\d\d:\d\d \S+: (.*?) → (.*) \([^()]*\)$`)
	priorLine = compiled(`^- \[\d{4}-\d\d-\d\d\] .* → `)
)

// priorOf returns the line of context.md for a task in a daily log that did something, or "".
func priorOf(n state.Note) string {
	found := logEntry().FindStringSubmatch(n.Text)
	if found == nil || n.Salience < didSomething {
		return ""
	}
	return "[" + dayOf(n.File) + "] " + found[1] + " → " + found[2]
}

// withPrior returns context.md with the newest of the tasks that notes tell of, in place of those that it had.
func withPrior(content string, notes []state.Note) string {
	content = strings.Join(slices.DeleteFunc(slices.Collect(strings.Lines(content)), priorLine().MatchString), "")
	notes = slices.DeleteFunc(notes, func(n state.Note) bool { return priorOf(n) == "" })
	slices.SortStableFunc(notes, func(a, b state.Note) int {
		return cmp.Or(cmp.Compare(a.File, b.File), a.Time.Compare(b.Time))
	})
	if strings.TrimSpace(content) == "" && len(notes) > 0 {
		content = title(contextFile)
	}
	for _, n := range notes[max(0, len(notes)-maxPrior):] {
		line := priorOf(n)
		if strings.Contains(content, "- "+line+"\n") {
			continue
		}
		if !strings.Contains(content, "## "+workspace.Conventions) && !strings.Contains(content, "## "+workspace.PriorTasks) {
			content = strings.TrimRight(content, "\n") + "\n\n## " + workspace.Conventions + "\n"
		}
		content = insert(contextFile, content, workspace.PriorTasks, line)
	}
	return content
}
