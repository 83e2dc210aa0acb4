package agent

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/tidwall/gjson"

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

// draft is draftOf the text, without a copy of all of it.
func (t *text) draft() string { return draftOf(string(t.b[max(0, len(t.b)-4*MaxDraft):])) }

func (t *text) reset()         { t.b, t.kept, t.full = t.b[:0], 0, false }
func (t *text) String() string { return string(t.b) }

// arguments are the tool arguments that matter to a person, the most useful first.
var arguments = []string{"command", "file_path", "absolute_path", "path", "dir_path", "pattern", "query", "url",
	"prompt", "agent_name", "name"}

// argument returns the one argument of a tool call to show, and what the agent says that the call is for, or "".
func argument(parameters gjson.Result) (detail, purpose string) {
	purpose = argumentLine(parameters.Get("description").Str)
	for _, name := range arguments {
		if s := parameters.Get(name).Str; s != "" {
			return argumentLine(s), purpose
		}
	}
	return "", purpose
}

func argumentLine(s string) string { return clean.Line(s, 200) }

// faultOf reads an error field: an object with type and message, or a string.
func faultOf(field gjson.Result) (kind, message string) {
	return field.Get("type").Str, cmp.Or(field.Str, field.Get("message").Str)
}
