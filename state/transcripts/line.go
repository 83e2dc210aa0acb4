package transcripts

import (
	"bytes"
	"encoding/json"
	"time"

	"matrix-tui/state/disk"
)

const (
	// MaxText is the longest text in a line of a transcript, in bytes; the rest
	// is cut off, and the cut is marked.
	MaxText = 64 << 10
	// maxField bounds the other fields of a line, in bytes.
	maxField = 4 << 10
	// maxLine is more than the longest line that Append writes: 64 KiB of text
	// in which every byte is escaped. A longer one was not written by us.
	maxLine = 1 << 20
)

// Kinds of lines.
const (
	KindBegin     = "begin"     // a task starts; Text is the user's request
	KindUser      = "user"      // a message of the user
	KindTool      = "tool"      // the agent used a tool
	KindAssistant = "assistant" // a message of the agent
	KindEnd       = "end"       // the task has ended, with Outcome
	KindNote      = "note"      // anything else worth knowing
)

// Line is one line of a transcript.
type Line struct {
	Time    time.Time `json:"time"` // UTC
	Kind    string    `json:"kind"`
	Room    string    `json:"room,omitempty"`
	Event   string    `json:"event,omitempty"` // of the task's message
	Text    string    `json:"text,omitempty"`
	Tool    string    `json:"tool,omitempty"`
	Outcome string    `json:"outcome,omitempty"`
}

// encode returns the line with its newline, its texts cut to their bounds.
func (l Line) encode() []byte {
	l.Text = disk.Clip(l.Text, MaxText)
	for _, field := range []*string{&l.Kind, &l.Room, &l.Event, &l.Tool, &l.Outcome} {
		*field = disk.Clip(*field, maxField)
	}
	return append(disk.JSON(l), '\n')
}

// parseLines parses the lines of a transcript and returns how many bytes at the end belong to an incomplete line. Lines
// that are not a JSON object of a line are counted as bad and left out.
func parseLines(data []byte) (lines []Line, torn, bad int) {
	if i := bytes.LastIndexByte(data, '\n'); i+1 < len(data) {
		torn = len(data) - i - 1
		data = data[:i+1]
	}
	for text := range bytes.Lines(data) {
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		var line Line
		if json.Unmarshal(text, &line) != nil || line.Kind == "" {
			bad++
			continue
		}
		lines = append(lines, line)
	}
	return lines, torn, bad
}
