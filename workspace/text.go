package workspace

import (
	"strings"
	"unicode/utf8"
)

// clean makes a text one that can be an argument of a process: valid UTF-8
// without NUL, line ends as Unix has them.
func clean(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return strings.NewReplacer("\x00", "", "\r\n", "\n").Replace(text)
}

// cut shortens text to at most limit bytes, at a character's border, with an
// ellipsis that is counted.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const mark = "…"
	end := max(0, limit-len(mark))
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}
