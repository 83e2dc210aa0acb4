// Package clean makes other people's text safe to show: in a room, a prompt, a log line, a terminal. It is the only
// sanitiser; differences between places are named rules. It never quotes or escapes for a format: Markdown, the prompt
// and file names have their own packages for that.
package clean

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Rules say what else to do to a text. The zero value is what every text gets: valid UTF-8 with "\n" as the only line
// break, without terminal escape sequences, control characters other than tab, and marks that reorder text so that it
// reads as something else. Applying it twice changes nothing.
type Rules struct {
	OneLine   bool // every run of white space and control characters becomes one space
	Invisible bool // also removes format characters: zero-width joiners, which emoji and Persian need, soft hyphens, tags
	Bytes     int  // maximum length in bytes, including the ellipsis; 0 for no limit
	Chars     int  // maximum length in characters
}

// Text cleans a text by the zero rules.
func Text(s string) string { return Rules{}.Text(s) }

// Line cleans a text that is shown on one line of at most max bytes.
func Line(s string, max int) string { return Rules{OneLine: true, Bytes: max}.Text(s) }

// Short cleans a text that is shown on one line of at most max characters.
func Short(s string, max int) string { return Rules{OneLine: true, Chars: max}.Text(s) }

// escapes matches the commands to a terminal that programs print: colours, titles, cursor movements (ECMA-48, 5.4 and
// 8.3.89).
var escapes = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[ -/]*[0-~])")

// Text cleans a text.
func (r Rules) Text(s string) string {
	if most := max(r.Bytes, r.Chars*utf8.UTFMax); r.OneLine && most > 0 {
		s = Cut(s, 8*most) // text far beyond the limit is not read
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.Contains(s, "\x1b") {
		s = escapes.ReplaceAllString(s, "")
	}
	if strings.Contains(s, "\r") {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	}
	s = strings.Map(r.keep, s)
	if r.OneLine {
		s = strings.Join(strings.Fields(s), " ")
	}
	if r.Chars > 0 && utf8.RuneCountInString(s) > r.Chars {
		s = string([]rune(s)[:r.Chars-1]) + "…"
	}
	if r.Bytes > 0 {
		s = Cut(s, r.Bytes)
	}
	return s
}

func (r Rules) keep(c rune) rune {
	switch {
	case c > ' ' && c < 0x7f: // the common case
		return c
	case r.OneLine && (unicode.IsSpace(c) || unicode.IsControl(c)):
		return ' '
	case c == '\n', c == '\t':
		return c
	case c == '\u2028', c == '\u2029':
		return '\n'
	case unicode.IsControl(c), c == '\uFEFF', unicode.Is(unicode.Bidi_Control, c) && c != '\u200E' && c != '\u200F' &&
		c != '\u061C':
		return -1
	case r.Invisible && !unicode.IsGraphic(c):
		return -1
	}
	return c
}

// Cut keeps at most max bytes of s, cut between characters, with an ellipsis if there was more. If max is under 3,
// there is no room for an ellipsis.
func Cut(s string, max int) string {
	if len(s) <= max {
		return s
	}
	const more = "…"
	if max < len(more) {
		return ""
	}
	return Clip(s, max-len(more)) + more
}

// Clip keeps at most max bytes of s, cut between characters.
func Clip(s string, max int) string {
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max]
}
