package recall

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"matrix-tui/state/clean"
)

var (
	bullet = compiled(`^(?:\s*(?:[-*•+]|\d{1,9}[.)])\s+)+`)
	fences = compiled("^(`{3,}[^`]*$|~{3,})")
)

// gap stands for what the author of a message did not write as text: no quote goes beyond it.
const gap = "\x00"

// own returns the lines of a message that its author wrote as text, with a gap in the place of quotations and code.
func own(message string) []string {
	lines := []string{}
	fence, quoting, blank := "", false, true // blank: so was the line before, or it was code
	for raw := range strings.SplitSeq(clean.Clip(clean.Text(message), maxFile), "\n") {
		line := strings.TrimSpace(bullet().ReplaceAllString(raw, ""))
		empty := strings.TrimSpace(raw) == ""
		indented := blank && (strings.HasPrefix(raw, "    ") || strings.HasPrefix(raw, "\t"))
		switch {
		case fence != "":
			if strings.HasPrefix(line, fence) && strings.Trim(line, fence[:1]) == "" {
				fence = ""
			}
			line = gap
		case empty:
			quoting = false
		case fences().MatchString(line):
			fence, quoting = line[:len(line)-len(strings.TrimLeft(line, line[:1]))], false
			line = gap
		case strings.HasPrefix(line, ">"), quoting: // also what Markdown takes for the rest of the quotation
			line, quoting = gap, true
		case indented:
			line = gap
		}
		blank = empty || indented
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// quotable is what may be quoted of a message, in one line.
func quotable(message string) string {
	text, out := strings.Join(own(message), "\n"), ""
	for {
		before, rest, _ := strings.Cut(text, "`")
		if out += before; len(before) == len(text) {
			return strings.Join(strings.Fields(out), " ")
		}
		ticks := text[len(before) : len(text)-len(strings.TrimLeft(rest, "`"))]
		text = text[len(before)+len(ticks):]
		if code := endOfCode(text, ticks); code >= 0 {
			out, text = out+gap, text[code:]
		} else {
			out += ticks
		}
	}
}

// endOfCode returns where inline code ends that some backticks have begun, or -1.
func endOfCode(text, ticks string) int {
	for at := 0; ; {
		n := strings.Index(text[at:], ticks)
		if n < 0 {
			return -1
		}
		at += n
		run := len(text[at:]) - len(strings.TrimLeft(text[at:], "`"))
		if at += run; run == len(ticks) {
			return at
		}
	}
}

// sharesWord reports whether two texts have a telling word of at least two letters in common.
func sharesWord(a, b string) bool {
	notInWord := func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) }
	words := map[string]bool{}
	for _, word := range strings.FieldsFunc(strings.ToLower(a), notInWord) {
		words[word] = utf8.RuneCountInString(word) > 1
	}
	return slices.ContainsFunc(strings.FieldsFunc(strings.ToLower(b), notInWord),
		func(word string) bool { return words[word] && !common[word] })
}

// common are words that say nothing about what a text is about.
var common = map[string]bool{"the": true, "use": true, "and": true, "not": true, "please": true, "instead": true,
	"should": true, "which": true, "for": true, "with": true,
	"is": true, "to": true, "of": true, "in": true, "it": true, "that": true, "this": true, "we": true, "my": true,
	"our": true, "on": true, "at": true, "be": true, "as": true}
