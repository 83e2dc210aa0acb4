package recall

import (
	"path"
	"slices"
	"strings"

	"matrix-tui/state/memory"
	"matrix-tui/workspace"
)

// merge returns a memory file as it should be: with the lines that it lacks, and without what was forgotten. Everything
// else stays as it is.
func merge(name, content string, lines []memory.Line, forgotten func(text string) bool) string {
	content = strip(name, content, lines, forgotten)
	for _, l := range lines {
		if !l.Gone && !has(content, l.Text) && !forgotten(l.Text) {
			content = insert(name, content, l)
		}
	}
	return content
}

// strip removes entries that were forgotten, and lines that are gone.
func strip(name, content string, lines []memory.Line, forgotten func(string) bool) string {
	source, _ := memory.SourceOf(name)
	gone := func(text string) bool {
		if source == memory.SourceStatus && forgotten(statusTask(text)) {
			return true
		}
		return forgotten(text) || slices.ContainsFunc(lines, func(l memory.Line) bool { return l.Gone && item(text) == item(l.Text) })
	}
	drop := map[int]bool{}
	for _, e := range memory.Markdown(source, name, content).Entries {
		for n := e.From; n <= e.To && gone(e.Text); n++ {
			drop[n] = true
		}
	}
	if len(drop) == 0 {
		return content
	}
	var out strings.Builder
	n := 0
	for line := range strings.Lines(content) {
		if n++; !drop[n] {
			out.WriteString(line)
		}
	}
	return out.String()
}

var taskEntry = compiled(`^\[[^\]\n]*\] Task: ([^\n]*)`)

// statusTask returns the task that an entry of status.md is about, or "".
func statusTask(entry string) string {
	if found := taskEntry.FindStringSubmatch(entry); found != nil {
		return found[1]
	}
	return ""
}

// item returns the text of a list item.
func item(text string) string {
	return strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(text), "-*+ "))
}

// has reports whether a file has a line as a list item.
func has(content, text string) bool {
	for line := range strings.Lines(content) {
		if item(line) == item(text) {
			return true
		}
	}
	return false
}

// insert adds a line at the end of its section, which is created if it is missing, or at the end of the file.
func insert(name, content string, l memory.Line) string {
	if strings.TrimSpace(content) == "" {
		content = title(name)
	}
	if !strings.HasSuffix(content, "\n") {
		content += "\n"
	}
	added := "- " + l.Text + "\n"
	if l.Section == "" {
		return content + added
	}
	heading := "## " + l.Section
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
		if first := "## " + workspace.Conventions; l.Section == workspace.PriorTasks && !slices.ContainsFunc(out, func(line string) bool { return strings.TrimSpace(line) == first }) {
			content += "\n" + first + "\n"
		}
		return content + "\n" + heading + "\n\n" + added
	}
	if strings.TrimSpace(out[at-1]) == heading {
		added = "\n" + added
	}
	return strings.Join(slices.Insert(out, at, added), "")
}

// preamble is the first paragraph of MEMORY.md.
const preamble = "What this room has learned. You may edit this file: what you change or delete here is changed or forgotten everywhere."

// title is the beginning of a new file.
func title(name string) string {
	if name == mainFile {
		return "# Memory\n\n" + preamble + "\n"
	}
	if name == contextFile {
		return workspace.FirstContext
	}
	return "# " + strings.TrimSuffix(path.Base(name), ".md") + "\n\n"
}
