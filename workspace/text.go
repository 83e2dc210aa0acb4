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

// unixText makes a text one that can be an argument of a process: valid UTF-8
// without NUL, line ends as Unix has them.
func unixText(text string) string {
	return unix.Replace(strings.ToValidUTF8(text, "\uFFFD"))
}

var unix = strings.NewReplacer("\x00", "", "\r\n", "\n")

// clip is unixText, cut, for a text of which little may be wanted.
func clip(text string, limit int) string {
	return clean.Cut(unixText(clean.Cut(text, 2*limit)), limit)
}

// said is a text behind the name of who said it, safe to stand in a prompt.
func said(name, text string) string {
	return "[" + speaker(name) + "]: " + plain(unixText(text))
}

// speaker is the name of who said something: no longer than a localpart can be,
// and without what would end its brackets or its line.
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

// label is a name that others chose (of a file, of a type), on one line and of
// at most limit bytes, safe to stand in a prompt.
func label(name string, limit int) string {
	if limit <= 0 {
		return ""
	}
	name = clean.Rules{OneLine: true, Invisible: true, Bytes: limit}.Text(name)
	return clean.Cut(speakerless(plain(name)), limit)
}

// lines is a text of at most limit bytes that is safe to stand beside what
// others said: each break of a line is a newline, and no line looks like a
// speaker's.
func lines(text string, limit int) string {
	text = strings.TrimSpace(breaks.Replace(clip(text, limit)))
	return clean.Cut(speakerless(plain(text)), limit)
}

// breaks turns whatever else a reader may take for the end of a line into one.
var breaks = strings.NewReplacer("\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// plain keeps the CLI from taking an @ in a text for a file to inline.
func plain(text string) string { return strings.ReplaceAll(text, "@", `\@`) }

// speakerless keeps the lines of a text from beginning with a speaker's brackets.
func speakerless(text string) string { return brackets.ReplaceAllString(text, `\$1`) }

var brackets = regexp.MustCompile(`(\[[^\n]*?\][\s\p{Z}\p{Cf}]*[:：])`)
