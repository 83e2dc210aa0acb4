package agent

import (
	"bytes"
	"encoding/json"
	"strings"

	"matrix-tui/state/clean"
)

// text collects pieces up to MaxText bytes.
type text struct {
	b    []byte
	kept int // the text when keep was last called
	full bool
}

// add appends piece and reports whether all of it fit.
func (t *text) add(piece string) bool {
	piece = strings.ToValidUTF8(piece, "\uFFFD")
	if room := MaxText - len(t.b); t.full || len(piece) > room {
		if !t.full {
			t.b = append(t.b, clean.Clip(piece, room)...)
		}
		t.full = true
		return false
	}
	t.b = append(t.b, piece...)
	return true
}

// paragraph separates the text so far from what follows.
func (t *text) paragraph() {
	if len(t.b) > 0 && !bytes.HasSuffix(t.b, []byte("\n\n")) {
		t.add("\n\n")
	}
}

// keep marks the current end; back returns to it.
func (t *text) keep() { t.kept = len(t.b) }

func (t *text) back() {
	if len(t.b) > t.kept {
		t.b, t.full = t.b[:t.kept], false
	}
}

func (t *text) reset()         { t.b, t.kept, t.full = t.b[:0], 0, false }
func (t *text) String() string { return string(t.b) }

// arguments are the tool arguments that matter to a person, the most useful first.
var arguments = []string{"command", "file_path", "absolute_path", "path", "dir_path", "pattern", "query", "url",
	"prompt", "agent_name", "name"}

// argument returns the one argument of a tool call to show, and what the agent says that the call is for, or "".
func argument(parameters json.RawMessage) (detail, purpose string) {
	var all map[string]any
	if json.Unmarshal(parameters, &all) != nil {
		return "", ""
	}
	purpose, _ = all["description"].(string)
	purpose = argumentLine(purpose)
	for _, name := range arguments {
		if s, ok := all[name].(string); ok && s != "" {
			return argumentLine(s), purpose
		}
	}
	return "", purpose
}

func argumentLine(s string) string { return clean.Line(s, 200) }

// faultOf reads an error field: an object with type and message, or a string.
func faultOf(raw json.RawMessage) (kind, message string) {
	var e struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	if json.Unmarshal(raw, &e) == nil {
		return e.Type, e.Message
	}
	if json.Unmarshal(raw, &message) == nil {
		return "", message
	}
	return e.Type, e.Message
}

// mend closes the strings, arrays and objects that a cut left open, so that what came
// before the cut can be parsed. If the cut is inside a key, the result does not parse
// and the line is lost.
func mend(cut []byte) []byte {
	var closers []byte
	inString := false
	escape := -1 // where an unfinished escape begins
	for i := 0; i < len(cut); i++ {
		c := cut[i]
		switch {
		case inString && c == '\\':
			need := 2
			if i+1 < len(cut) && cut[i+1] == 'u' {
				need = 6
			}
			if i+need > len(cut) {
				escape = i
			}
			i += need - 1
		case c == '"':
			inString = !inString
		case inString:
		case c == '{':
			closers = append(closers, '}')
		case c == '[':
			closers = append(closers, ']')
		case (c == '}' || c == ']') && len(closers) > 0:
			closers = closers[:len(closers)-1]
		}
	}
	if escape >= 0 {
		cut = cut[:escape]
	}
	out := append(make([]byte, 0, len(cut)+len(closers)+1), cut...)
	if inString {
		out = append(out, '"')
	}
	for i := len(closers) - 1; i >= 0; i-- {
		out = append(out, closers[i])
	}
	return out
}
