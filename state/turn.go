package state

import (
	"encoding/json"
	"slices"
	"strings"

	"matrix-tui/state/disk"
)

const (
	// MaxTurns is how many turns of a room are kept.
	MaxTurns = 50
	// MaxContent is the longest content of a turn, in bytes; the rest is cut
	// off, and the cut is marked.
	MaxContent = 16 << 10
)

// Turn is one message of the conversation in a room.
type Turn struct {
	Role    string `json:"role"`            // "user" or "assistant"
	Content string `json:"content"`         // plain text, at most MaxContent bytes
	Event   string `json:"event,omitempty"` // of the message that the turn belongs to
}

// turns is the history of one room as stored, one JSON object per turn, so that unknown keys of a newer
// release survive. It is never changed in place.
type turns []json.RawMessage

// key identifies a turn: empty for one without an event.
func (t Turn) key() string {
	if t.Event == "" {
		return ""
	}
	return t.Role + "\x00" + t.Event
}

// decode returns the turns as values, the newest MaxTurns of them.
func (ts turns) decode() []Turn {
	ts = ts.window()
	out := make([]Turn, 0, len(ts))
	for _, raw := range ts {
		var t Turn
		if json.Unmarshal(raw, &t) == nil {
			t.Content = disk.Clip(t.Content, MaxContent)
			out = append(out, t)
		}
	}
	return out
}

// with returns the turns with more added at the end, without duplicates.
func (ts turns) with(more []Turn) turns {
	seen := map[string]bool{}
	for _, t := range ts.decode() {
		seen[t.key()] = true
	}
	out := slices.Clone(ts)
	for _, t := range more {
		if key := t.key(); key == "" || !seen[key] {
			seen[key] = true
			out = append(out, encodeTurn(t))
		}
	}
	return out.window()
}

func (ts turns) window() turns {
	return ts[max(0, len(ts)-MaxTurns):]
}

func encodeTurn(t Turn) json.RawMessage {
	t.Content = disk.Clip(t.Content, MaxContent)
	return disk.JSON(t)
}

// unique returns the turns without duplicates of earlier ones.
func (ts turns) unique() turns {
	seen := map[string]bool{}
	var out turns
	for _, raw := range ts {
		var t Turn
		if json.Unmarshal(raw, &t) != nil || (t.key() != "" && seen[t.key()]) {
			continue
		}
		seen[t.key()] = true
		out = append(out, raw)
	}
	return out
}

// newest returns the newest turns that fit in limit bytes, at least one.
func (ts turns) newest(limit int) turns {
	from := len(ts)
	for size := 0; from > 0 && (from == len(ts) || size+len(ts[from-1]) <= limit); from-- {
		size += len(ts[from-1])
	}
	return ts[from:]
}

// linesBegin is how lines begins.
const linesBegin = "[\n"

// lines returns the turns as they are, as a JSON list with a line for each, as state.json and the journal have it; ""
// if there are none.
func (ts turns) lines() string {
	if len(ts) == 0 {
		return ""
	}
	texts := make([]string, len(ts))
	for i, raw := range ts {
		texts[i] = string(raw)
	}
	return linesBegin + "      " + strings.Join(texts, ",\n      ") + "\n    ]"
}

// turnKey identifies a turn in a list: by its event, or else by all of it.
func turnKey(raw json.RawMessage) string {
	var t Turn
	if json.Unmarshal(raw, &t) == nil && t.key() != "" {
		return t.key()
	}
	return string(raw)
}
