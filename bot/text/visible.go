package text

import (
	"fmt"
	"strings"
	"unicode"

	"matrix-tui/state/clean"
)

// Visible is text without what nobody sees; see package clean.
func Visible(text string) string { return clean.Text(text) }

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
