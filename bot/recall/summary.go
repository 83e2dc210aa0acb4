package recall

import (
	"fmt"
	"strings"

	"matrix-tui/state/clean"
	"matrix-tui/state/memory"
)

// summary lists what a room remembers in sentences for people, by kind. What is in MEMORY.md as well is listed once.
func summary(hits []memory.Hit) string {
	kinds := map[string][]string{}
	seen := map[string]bool{}
	for _, hit := range hits {
		for line := range strings.Lines(hit.Text) {
			kind, words := spoken(hit, strings.TrimSpace(line))
			if strings.HasSuffix(words, preamble) {
				continue
			}
			words = clean.Line(strings.ReplaceAll(words, "`", "'"), 240)
			if key := strings.ToLower(words); words != "" && !seen[key] {
				seen[key] = true
				kinds[kind] = append(kinds[kind], words)
			}
		}
	}
	var out strings.Builder
	for _, kind := range []string{"Preferences", "Facts", "Decisions", "Answers", "Notes"} {
		list := kinds[kind]
		if len(list) == 0 {
			continue
		}
		fmt.Fprintf(&out, "**%s**\n\n", kind)
		for _, words := range list[:min(len(list), shownOfKind)] {
			out.WriteString("- " + words + "\n")
		}
		if more := len(list) - shownOfKind; more > 0 {
			fmt.Fprintf(&out, "- … and %d more\n", more)
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// spoken returns the kind of an entry, a heading of MEMORY.md, and what it says, without its labels and its origin.
func spoken(hit memory.Hit, line string) (kind, words string) {
	kind = "Notes"
	if heading, rest, ok := strings.Cut(line, ": "); ok && hit.Source == memory.SourceMemory {
		switch heading {
		case "Preferences", "Facts", "Decisions", "Answers", "Notes":
			kind, line = heading, rest
		}
	}
	line = item(line)
	if question, answer, ok := parseAnswer(line); ok {
		return "Answers", question + " – " + answer
	}
	if label, rest, ok := strings.Cut(line, ": "); ok && sections[label] != "" {
		kind, line = sections[label], rest
	} else if origin, _, _ := strings.Cut(hit.Path, "/"); sections[origin] != "" {
		kind = sections[origin]
	}
	words, origin, _ := strings.Cut(line, " (learned from: ")
	if _, about, ok := strings.Cut(strings.TrimSuffix(origin, ")"), ", about: "); ok { // a correction
		words += " (about: " + about + ")"
	}
	return kind, words
}
