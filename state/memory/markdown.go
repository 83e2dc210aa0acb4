package memory

import (
	"path"
	"regexp"
	"strings"
	"time"
)

// MaxFiles bounds the memory files of a room that are indexed, in bytes together.
const MaxFiles = 1 << 20

// SourceOf returns the source of a file of the workspace by its path, or false for a file that is not memory.
func SourceOf(file string) (Source, bool) {
	switch {
	case file == "MEMORY.md":
		return SourceMemory, true
	case file == "context.md":
		return SourceContext, true
	case file == "status.md":
		return SourceStatus, true
	case path.Dir(file) == "memory" && path.Ext(file) == ".md" && path.Base(file) != ".md":
		return SourceLog, true
	}
	return "", false
}

var (
	markHeading = regexp.MustCompile(`^ {0,3}(#{1,6})\s+(.*?)[\s#]*$`)
	markItem    = regexp.MustCompile(`^ {0,3}([-*+]|\d{1,9}[.)])\s`)
	markFence   = regexp.MustCompile("^ {0,3}(```+|~~~+)")
	isoDay      = regexp.MustCompile(`\b(\d{4}-\d{2}-\d{2})\b`)
)

// Markdown splits a Markdown file into entries: list items, paragraphs, code blocks. Each heading begins a unit, and is
// the speaker of what is below it. A date in a heading or in the name of the file is the time of what is below it, and a
// date at the start of an entry is the time of that entry. At most MaxFiles bytes are read.
func Markdown(source Source, file, text string) Document {
	if len(text) > MaxFiles {
		text = text[:MaxFiles]
	}
	m := markdown{doc: Document{Source: source, Path: file}, file: dayIn(path.Base(file))}
	m.time = m.file
	n := 0
	for line := range strings.Lines(text) {
		n++
		m.line(n, strings.TrimRight(line, "\r\n"))
	}
	m.flush()
	return m.doc
}

// markdown is the state of reading a file.
type markdown struct {
	doc        Document
	file, time time.Time
	heading    [6]string
	trail      string // the headings above
	alone      bool   // a heading has come
	fence      string // that ends the code block, or ""
	from, to   int    // lines of the entry
	text       []string
}

func (m *markdown) line(n int, line string) {
	switch {
	case m.fence != "":
		m.add(n, line)
		if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, m.fence) && strings.Trim(trimmed, m.fence[:1]) == "" {
			m.fence = ""
		}
	case markFence.MatchString(line):
		m.fence = markFence.FindStringSubmatch(line)[1]
		m.add(n, line)
	case strings.TrimSpace(line) == "":
		m.flush()
	case markHeading.MatchString(line):
		m.flush()
		found := markHeading.FindStringSubmatch(line)
		m.head(len(found[1])-1, found[2])
	case markItem.MatchString(line):
		m.flush()
		m.add(n, line)
	default:
		m.add(n, line)
	}
}

func (m *markdown) add(n int, line string) {
	if len(m.text) == 0 {
		m.from = n
	}
	m.to, m.text = n, append(m.text, line)
}

// head begins a section.
func (m *markdown) head(level int, title string) {
	m.heading[level] = title
	clear(m.heading[level+1:])
	var trail []string
	m.time = m.file
	for _, h := range m.heading {
		if h == "" {
			continue
		}
		trail = append(trail, h)
		if day := dayIn(h); !day.IsZero() {
			m.time = day
		}
	}
	if len(trail) > 1 {
		trail = trail[1:] // the title of the file says little
	}
	m.trail, m.alone = strings.Join(trail, " > "), true
}

func (m *markdown) flush() {
	if len(m.text) == 0 {
		return
	}
	text := strings.TrimSpace(strings.Join(m.text, "\n"))
	at := m.time
	if day := dayIn(text[:min(len(text), 16)]); !day.IsZero() {
		at = day
	}
	m.doc.Entries = append(m.doc.Entries, Entry{From: m.from, To: m.to, Time: at, Speaker: m.trail, Text: text, Alone: m.alone})
	m.text, m.alone = m.text[:0], false
}

// dayIn returns the date in a text, or zero.
func dayIn(text string) time.Time {
	found := isoDay.FindString(text)
	if found == "" {
		return time.Time{}
	}
	day, err := time.Parse(time.DateOnly, found)
	if err != nil {
		return time.Time{}
	}
	return day
}
