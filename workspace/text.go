package workspace

import (
	"regexp"
	"strings"

	"matrix-tui/state/clean"
)

// Message is a message in the room.
type Message struct {
	Sender string // localpart of the user's ID; "" = "user"
	Text   string
}

// unixText makes a text valid as an argument of a process: UTF-8 without NUL, with Unix line ends.
func unixText(text string) string {
	return unix.Replace(strings.ToValidUTF8(text, "\uFFFD"))
}

var unix = strings.NewReplacer("\x00", "", "\r\n", "\n")

// clip is unixText, cut before the work is done: little of a long text may be needed.
func clip(text string, limit int) string {
	return clean.Cut(unixText(clean.Cut(text, 2*limit)), limit)
}

// said returns a text with its speaker's name before it, safe to include in a prompt.
func said(name, text string) string {
	return "[" + speaker(name) + "]: " + plain(unixText(text))
}

// speaker returns a speaker's name: no longer than a localpart can be, and without characters that would end its
// brackets or its line.
func speaker(name string) string {
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune(`[]@/\`, r) {
			return -1
		}
		return r
	}, clean.Cut(name, 1_000))
	if name = (clean.Rules{OneLine: true, Invisible: true, Bytes: 255}).Text(name); name == "" {
		return "user"
	}
	return name
}

// label returns a name that others chose (of a file or a type) on one line of at most limit bytes, safe to include in a
// prompt.
func label(name string, limit int) string {
	if limit <= 0 {
		return ""
	}
	name = clean.Rules{OneLine: true, Invisible: true, Bytes: limit}.Text(name)
	return clean.Cut(speakerless(plain(name)), limit)
}

// lines returns a text of at most limit bytes that is safe next to other people's text: every line break is a newline,
// and no line looks like a speaker's.
func lines(text string, limit int) string {
	text = strings.TrimSpace(breaks.Replace(clip(text, limit)))
	return clean.Cut(speakerless(plain(text)), limit)
}

// breaks turns every other character that a reader may treat as a line end into a newline.
var breaks = strings.NewReplacer("\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// plain escapes each @, which the CLI would treat as a file to inline.
func plain(text string) string { return strings.ReplaceAll(text, "@", `\@`) }

// speakerless prevents lines from beginning with a speaker's brackets.
func speakerless(text string) string { return brackets.ReplaceAllString(text, `\$1`) }

var brackets = regexp.MustCompile(`(\[[^\n]*?\][\s\p{Z}\p{Cf}]*[:：])`)
