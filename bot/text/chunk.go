package text

import (
	"regexp"
	"strings"
)

// Split cuts markdown into parts of at most max bytes, at the best place there is: between paragraphs, else between
// lines, else between any two characters. A code fence is kept whole if it fits; otherwise it is closed at the end of a
// part and opened again in the next. A table that is cut between two rows repeats its header.
func Split(text string, max int) []string {
	var parts []string
	fence, head := "", "" // the line that opened the current fence; what the next part begins with
	for len(text) > 0 {
		if len(head)+len(text) <= max {
			return append(parts, head+text)
		}
		cut, open := cutAt(text, max-len(head)-len("\n```````"), fence)
		part := head + text[:cut]
		if fence, head = open, ""; open != "" {
			head = open + "\n"
		} else if again := tableHead(part, text[cut:]); len(again) <= max/4 {
			head = again
		}
		part = strings.TrimRight(part, "\n")
		if open != "" {
			part += "\n" + marker(open)
		}
		parts = append(parts, part)
		text = strings.TrimLeft(text[cut:], "\n")
	}
	return parts
}

// Fit splits text, without invisible characters, into parts of at most size bytes that fits accepts. A part that it
// rejects is split again, down to 512 bytes. There is at least one part, and none is blank.
func Fit(text string, size int, fits func(part string) bool) []string {
	var out []string
	for _, part := range Split(Visible(text), size) {
		if strings.TrimSpace(part) == "" {
			continue
		}
		if len(part) > 512 && !fits(part) {
			out = append(out, Fit(part, len(part)*11/20, fits)...) // in two parts of about equal size
			continue
		}
		out = append(out, part)
	}
	if len(out) == 0 {
		return []string{"…"}
	}
	return out
}

// delimiter is the second line of a table
// (https://github.github.com/gfm/#delimiter-row).
var delimiter = regexp.MustCompile(`^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$`)

// tableHead returns the two header lines of the table that is cut at the end of part, or "".
func tableHead(part, rest string) string {
	first, _, _ := strings.Cut(rest, "\n")
	if !strings.HasSuffix(part, "\n") || !strings.Contains(first, "|") || delimiter.MatchString(first) {
		return ""
	}
	if at := strings.LastIndex(part, "\n\n"); at >= 0 {
		part = part[at+2:]
	}
	before := ""
	for line := range strings.Lines(part) {
		if strings.Contains(line, "|") && strings.Contains(before, "|") &&
			delimiter.MatchString(strings.TrimRight(line, "\r\n")) {
			return before + line
		}
		before = line
	}
	return ""
}

// cutAt finds the best place at or before limit to cut text, which begins inside fence if that is not empty, and
// returns the fence that is open there.
func cutAt(text string, limit int, fence string) (cut int, open string) {
	type place struct {
		at    int
		fence string
	}
	var paragraph, line, inFence place
	at := 0
	for at < len(text) {
		end := strings.IndexByte(text[at:], '\n')
		if end < 0 {
			break
		}
		end += at + 1
		if end > limit {
			break
		}
		content := strings.TrimRight(text[at:end], "\r\n")
		fence = next(fence, content)
		switch {
		case fence != "":
			inFence = place{end, fence}
		case strings.TrimSpace(content) == "":
			paragraph = place{end, ""}
		default:
			line = place{end, ""}
		}
		at = end
	}
	switch {
	case fence != "" && max(paragraph.at, line.at) > 0:
		// The limit is in a fence that begins after one of these: keep it whole,
		// in the next part.
		return max(paragraph.at, line.at), ""
	case paragraph.at > limit/2:
		return paragraph.at, ""
	case line.at > 0:
		return line.at, ""
	case inFence.at > 0:
		return inFence.at, inFence.fence
	}
	cut = limit
	for cut > 0 && text[cut]&0xC0 == 0x80 {
		cut--
	}
	return cut, fence
}

// Close closes the fence that is open at the end of a text.
func Close(text string) string {
	fence := ""
	for line := range strings.Lines(text) {
		fence = next(fence, strings.TrimRight(line, "\r\n"))
	}
	if fence == "" {
		return text
	}
	return strings.TrimRight(text, "\n") + "\n" + marker(fence)
}

// next returns the fence that is open after a line.
func next(fence, line string) string {
	trimmed := strings.TrimLeft(line, " ")
	if len(line)-len(trimmed) > 3 {
		return fence
	}
	if fence == "" {
		if m := marker(trimmed); len(m) >= 3 && !(m[0] == '`' && strings.Contains(trimmed[len(m):], "`")) {
			if len(trimmed) > 100 {
				return m // too long an info string to repeat
			}
			return trimmed
		}
		return ""
	}
	m := marker(trimmed)
	if len(m) >= len(marker(fence)) && m[0] == fence[0] && strings.TrimSpace(trimmed[len(m):]) == "" {
		return ""
	}
	return fence
}

// marker returns the run of backticks or tildes that a line begins with, of at most seven; longer runs count as seven.
func marker(line string) string {
	if line == "" || line[0] != '`' && line[0] != '~' {
		return ""
	}
	n := 0
	for n < len(line) && n < 7 && line[n] == line[0] {
		n++
	}
	return line[:n]
}
