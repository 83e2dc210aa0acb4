package text

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// terminal are the commands to a terminal that programs print among their text:
// colours, titles, cursor movements (ECMA-48, 5.4 and 8.3.89).
var terminal = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[ -/]*[0-~])")

// Visible is text without what nobody sees: control characters, commands to a
// terminal, and the marks that turn round the order of what stands behind them,
// so that a text looks like another one. Lines end by "\n". Done again, it changes
// nothing.
func Visible(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if strings.Contains(text, "\x1b") {
		text = terminal.ReplaceAllString(text, "")
	}
	if strings.Contains(text, "\r") {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\u2028', r == '\u2029':
			return '\n'
		case unicode.IsControl(r), r == '\uFEFF', unicode.Is(unicode.Bidi_Control, r) && r != '\u200E' && r != '\u200F' && r != '\u061C':
			return -1
		}
		return r
	}, text)
}

// Reveal is text with the code points of all that nobody sees in it, as in
// "\\u{202E}": who says yes to a command is to know the whole of it.
func Reveal(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '\n' || r == '\t' || r == ' ' || unicode.IsGraphic(r) && !unicode.IsSpace(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "\\u{%04X}", r)
		}
	}
	return b.String()
}
