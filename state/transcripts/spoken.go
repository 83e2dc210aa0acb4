package transcripts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"

	"matrix-tui/state/disk"
)

// Spoken returns what was said in a room, the newest if that has more than most bytes, oldest first: its lines of the
// kinds begin, user and assistant. It may be called from another process, and reads the whole transcript.
func Spoken(dir, room string, most int) (lines []Line, err error) {
	t := Files{dir: filepath.Join(dir, Folder)}
	path, err := t.path(room)
	if err != nil {
		return nil, err
	}
	keep := func(text []byte) bool {
		var line Line
		if bytes.Contains(text, []byte(`"kind":"tool"`)) || json.Unmarshal(text, &line) != nil {
			return false
		}
		switch line.Kind {
		case KindBegin, KindUser, KindAssistant:
			lines, most = append(lines, line), most-len(line.Text)
		}
		for most < 0 {
			lines, most = lines[1:], most+len(lines[0].Text)
		}
		return false
	}
	for _, part := range []string{path + ".1", path} {
		if _, _, err := searchEnd(part, math.MaxInt64, keep); err != nil {
			return nil, disk.Explain(fmt.Errorf("read transcript: %w", err), path)
		}
	}
	return linesOf(room, lines), nil
}
