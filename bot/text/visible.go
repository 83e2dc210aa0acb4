package text

import (
	"fmt"
	"strings"
	"unicode"

	"matrix-tui/state/clean"
)

// Visible returns text without invisible characters; see package clean.
func Visible(text string) string { return clean.Text(text) }

// Reveal returns text with the code points of all invisible characters, as in "\\u{202E}": whoever approves a command
// must see all of it.
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
