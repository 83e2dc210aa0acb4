package recall

import (
	"fmt"
	"strings"
	"time"

	"matrix-tui/state/clean"
	"matrix-tui/state/memory"
)

// maxAbout bounds the text of the task that a correction is about, in bytes.
const maxAbout = 120

// wishes are the preferences, facts and decisions that people stated, and a correction of the task before.
func (o observer) wishes() (docs []memory.Document, lines []memory.Line, correction string) {
	t := o.task
	add := func(kind, value string, said Said, about string) {
		if value = o.short(value); value == "" {
			return
		}
		text := fmt.Sprintf("%s: %s (learned from: %s, %s%s)", kind, value, whom(said.By), t.Began.Format(time.DateOnly), about)
		docs = append(docs, memory.Document{Source: memory.SourceNote, Path: fmt.Sprintf("%s/%s/%d", kind, t.ID, len(docs)), Origin: kind,
			Entries: []memory.Entry{{From: 1, To: 1, Time: t.Began, Text: text, Event: said.Event, Alone: true}}})
		lines = append(lines, memory.Line{Event: said.Event, Path: mainFile, Section: sections[kind], Text: text})
	}
	for i, said := range t.Said {
		for _, p := range Preferences(said.Text) {
			add(p.Kind, p.Value, said, "")
		}
		value, ok := Correction(said.Text)
		if !ok {
			continue
		}
		about := t.Before
		if i > 0 {
			about = t.Said[0].Text
		}
		if about = o.short(withoutQuotes(about)); about != "" {
			about = ", about: " + clean.Line(about, maxAbout)
		}
		add("correction", value, said, about)
		correction = o.short(value)
	}
	return docs, lines, correction
}

// sections are the headings of MEMORY.md, by kind.
var sections = map[string]string{"preference": "Preferences", "correction": "Preferences", "fact": "Facts", "decision": "Decisions"}

// wish takes the value of a preference, a fact or a decision out of the line that keeps it, or returns "".
func wish(line string) string {
	kind, rest, _ := strings.Cut(line, ": ")
	value, _, learned := strings.Cut(rest, " (learned from: ")
	if _, known := sections[kind]; !known || !learned {
		return ""
	}
	return value
}
