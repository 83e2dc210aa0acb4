package recall

import (
	"cmp"
	"context"
	"errors"

	"matrix-tui/state/clean"
	"matrix-tui/state/memory"
)

// ErrNotKept means that a text looks like a secret, or like instructions for the agent.
var ErrNotKept = errors.New("memory does not keep this text")

// Note adds what a person wants a room to remember: a note of a kind, such as "fact", and its line in MEMORY.md, which is
// written after the room's next task. A text that is too long for a line is only in the index. The event is the message
// that says it, or "". Note reports false if the note is there already.
func (m *Memory) Note(ctx context.Context, x *memory.Index, event, kind, text string) (added bool, err error) {
	if Instructs(text) || m.filter.Clean(text) != clean.Text(text) {
		return false, ErrNotKept
	}
	if added, err = x.Add(ctx, kind, text); err != nil || len(text) > maxSaid {
		return added, err
	}
	line := memory.Line{Event: event, Path: mainFile, Section: cmp.Or(sections[kind], "Notes"), Text: clean.Line(text, maxSaid)}
	_, err = x.Learn(ctx, nil, []memory.Line{line})
	return added, err
}
