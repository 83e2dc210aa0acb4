package event

import "unicode"

// IsBlank reports whether a character cannot be seen at the end of a word: white space, or one without a width, which
// some keyboards and clients add.
func IsBlank(r rune) bool {
	switch r {
	case '\u200b', '\u200c', '\u200d', '\u2060', '\ufeff', '\ufe0e', '\ufe0f':
		return true
	}
	return unicode.IsSpace(r)
}
