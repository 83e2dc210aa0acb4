package agent

import (
	"bytes"
	"slices"
	"strings"
)

// markers are what must not reach a person.
var markers = []string{needInput, inContext, endInput}

// leastPart is how much of a marker the end of a text has to contain to be taken for one that was cut.
const leastPart = len("<<<NEED")

// Unmark removes the markers of signals from a text for people, with lines that contain nothing else, and a marker that
// the end of the text cuts. A signal that counts was taken out before; what is left of one without a question, of a
// second one or of one that was begun again is no more than its words. Markers stay in code and in block quotes, where
// the text is about them.
func Unmark(text string) string {
	if !strings.Contains(text, "<<<") {
		return text
	}
	var out strings.Builder
	var open fence
	loose := false // an indented line is code here: a blank line is above it, and text above that
	begun := false // there is text above
	plain := false // the last line is neither code nor quoted
	for len(text) > 0 {
		line, rest, _ := strings.Cut(text, "\n")
		if len(line) < len(text) {
			line = text[:len(line)+1]
		}
		text = rest
		f := fenceOf([]byte(line))
		cleaned := false
		switch {
		case open.n > 0:
			if open.closedBy(f) {
				open = fence{}
			}
			f = fence{}
		case f.n > 0, isQuoted(line), loose && isIndented(line):
		default:
			before := line
			cleaned = true
			if line = unmarkLine(line); line != before && strings.Trim(line, " \t\r\n-*+") == "" {
				continue
			}
			f = fenceOf([]byte(line)) // it may be one without its markers
		}
		if f.n > 0 {
			open = f
		}
		blank := strings.TrimSpace(line) == ""
		begun = begun || !blank
		loose = begun && (blank || loose && isIndented(line))
		out.WriteString(line)
		plain = cleaned
	}
	if !plain {
		return out.String()
	}
	return cutParts(out.String())
}

// isQuoted reports whether a line is in a block quote.
func isQuoted(line string) bool {
	text := strings.TrimLeft(line, " ")
	return len(line)-len(text) <= 3 && strings.HasPrefix(text, ">")
}

// isIndented reports whether a line is code if a blank line, or code, is above it.
func isIndented(line string) bool {
	text := strings.TrimLeft(line, " ")
	return len(line)-len(text) > 3 || strings.HasPrefix(text, "\t")
}

// unmarkLine removes the markers that are not in a code span. Words on both sides stay apart, so that they do not form
// another marker.
func unmarkLine(line string) string {
	var out []byte
	for len(line) > 0 {
		i := strings.IndexAny(line, "`<")
		if i < 0 {
			out = append(out, line...)
			break
		}
		out, line = append(out, line[:i]...), line[i:]
		if n := span(line); n > 0 {
			out, line = append(out, line[:n]...), line[n:]
		} else if n := markerAt(line); n > 0 {
			out, line = bytes.TrimRight(out, " \t"), strings.TrimLeft(line[n:], " \t")
			if len(out) > 0 && strings.TrimSpace(line) != "" {
				out = append(out, ' ')
			}
		} else {
			out, line = append(out, line[0]), line[1:]
		}
	}
	return string(out)
}

// unmarkDraft is Unmark for a text that may begin anywhere, so that nothing is known about code in it.
func unmarkDraft(text string) string {
	for _, mark := range markers {
		text = strings.ReplaceAll(text, mark, " ")
	}
	return cutParts(text)
}

// maxSpan is the longest code span that counts, in bytes.
const maxSpan = 4 << 10

// span returns the length of what a line begins with in backticks: a code span, or the ticks alone if nothing closes
// it.
func span(line string) int {
	ticks := len(line) - len(strings.TrimLeft(line, "`"))
	line = line[:min(len(line), ticks+maxSpan)]
	for at := ticks; ticks > 0; {
		i := strings.IndexByte(line[at:], '`')
		if i < 0 {
			return ticks
		}
		at += i
		n := len(line[at:]) - len(strings.TrimLeft(line[at:], "`"))
		if at += n; n == ticks {
			return at
		}
	}
	return 0
}

// markerAt returns the length of the marker that a line begins with, or 0.
func markerAt(line string) int {
	for _, mark := range markers {
		if strings.HasPrefix(line, mark) {
			return len(mark)
		}
	}
	return 0
}

// cutParts removes beginnings of markers from the end of a text.
func cutParts(text string) string {
	for {
		end := strings.TrimRight(text, " \t\r\n")
		i := strings.LastIndex(end, "<<<")
		if i < 0 || len(end)-i < leastPart || !slices.ContainsFunc(markers,
			func(mark string) bool { return strings.HasPrefix(mark, end[i:]) }) {
			return text
		}
		text = end[:i]
	}
}
