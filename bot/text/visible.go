package text

import (
	"fmt"
	"strings"
	"unicode"

	"matrix-tui/state/clean"
)

// Visible returns text without invisible characters; see package clean.
func Visible(text string) string { return clean.Text(text) }

// Reveal returns text with the code points of all characters that are not ASCII, or invisible, as in "\\u{202E}":
// whoever approves a command must see all of it, and many letters look like others, or like nothing.
func Reveal(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '\n' || r == '\t' || r >= ' ' && r < unicode.MaxASCII {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "\\u{%04X}", r)
		}
	}
	return b.String()
}
